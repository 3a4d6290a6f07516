#pragma once

#include <cstddef>
#include <cstdint>

#include "core/values/time.h"

namespace holdfast::core {

// Everything in the engine has an end. A request beyond one of these is refused with its name.
struct Limits {
    std::size_t locks_max = 10'000'000;
    // Held or kept in grace, and waiters too: each of those becomes a lease without asking again.
    // The memory of a last owner does not count: there is one to a lock at most.
    std::size_t leases_max = 4'000'000;
    std::size_t waiters_max = 1'000'000;
    std::size_t waiters_per_lock_max = 100'000;
    std::size_t sessions_max = 1'000'000;
    // Two-phase entries whose lease expired before the wait, of all sessions together. They are
    // kept only to say so; beyond this number the oldest is forgotten. (Other entries stand for a
    // waiter or a lease each.)
    std::size_t expired_entries_max = 10'000;
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
