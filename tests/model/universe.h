#pragma once

// The small worlds of the random calls. They have so few things that calls often conflict.

#include <string_view>
#include <vector>

#include "core/values/request.h"

namespace holdfast::model {

struct Universe {
    core::TableOptions options;
    std::vector<core::Scope> scopes;
    std::vector<core::Owner> owners;
};

// A single name that every owner wants.
[[nodiscard]] Universe one_name();
// One lock of every kind, and two names. A lock that nobody uses is dropped at once.
[[nodiscard]] Universe one_of_each();
// An inode, and ranges of it that touch, overlap and contain each other.
[[nodiscard]] Universe one_inode();
// Few clients, and locks enough for them to wait for each other.
[[nodiscard]] Universe crosswise();
// Semaphores and names that are remembered for a while when idle.
[[nodiscard]] Universe idle_permits();
// One door has limits of its own, and locks are kept for it alone.
[[nodiscard]] Universe door_of_its_own();
// Very low limits.
[[nodiscard]] Universe tight_limits();
// Enough locks, but low limits for leases, sessions and expired entries.
[[nodiscard]] Universe few_leases();
// Nearly as many names and inodes as calls.
[[nodiscard]] Universe many_locks();

}  // namespace holdfast::model
