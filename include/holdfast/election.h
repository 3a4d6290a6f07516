#pragma once

// An election is a lock, and the leader is its holder.

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast {

struct Candidacy {
    std::string election;                   // the name of the lock
    std::string candidate;                  // the holder; empty: this host, process and client
    std::string value;                      // what it tells everybody when it leads: its address
    std::chrono::milliseconds ttl{30'000};  // how long nobody leads, when the leader fails
};

struct Leader {
    std::string candidate;
    std::string value;
    // How often this leader has set its value. 0: never.
    std::uint64_t revision = 0;
    // Larger than that of every earlier leader.
    std::uint64_t fencing_token = 0;

    bool operator==(const Leader&) const = default;
};

}  // namespace holdfast
