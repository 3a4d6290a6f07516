#pragma once

#include <cstddef>
#include <cstdint>

#include "core/time.h"

namespace holdfast::core {

// Everything in the engine has an end. A request beyond one of these is refused with its name.
struct Limits {
    std::size_t locks_max = 10'000'000;
    std::size_t waiters_max = 1'000'000;
    std::size_t waiters_per_lock_max = 100'000;
    std::size_t key_length_max = 4096;
    std::size_t owner_length_max = 1024;
    std::size_t request_id_length_max = 256;
    std::size_t metadata_length_max = 1024;
    std::uint32_t permits_max = 1'000'000;
    Duration ttl_min = std::chrono::milliseconds{1};
    Duration ttl_max = std::chrono::hours{24 * 366};
};

// How a lock table is set up.
struct TableOptions {
    Limits limits;
    // The number of the first grant. A durable server continues where it stopped.
    std::uint64_t first_fence = 1;
    // The serial number of the first waiter or session. A table that takes the place of another
    // begins where that one stopped: its sessions must not be mistaken for new ones.
    std::uint64_t first_serial = 1;
    // How long a lock nobody holds or wants is remembered. Zero: it is dropped at once.
    Duration idle_retention{0};
    // Random: keys come from the network, and a fixed hash would let a peer choose collisions.
    std::uint64_t hash_seed = 0;
};

}  // namespace holdfast::core
