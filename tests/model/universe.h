#pragma once

// The small worlds the random calls happen in: few enough things that they get in each other's way.

#include <string_view>
#include <vector>

#include "core/values/limits.h"
#include "core/values/request.h"

namespace holdfast::model {

struct Universe {
    core::TableOptions options;
    std::vector<core::Scope> scopes;
    std::vector<core::Owner> owners;
};

// A single name that everybody wants.
[[nodiscard]] Universe one_name();
// One lock of every kind, two for names. Locks are dropped at once when nothing is left on them.
[[nodiscard]] Universe one_of_each();
// An inode, and ranges of it that touch, overlap and contain one another.
[[nodiscard]] Universe one_inode();
// Semaphores and names that are remembered for a while when idle.
[[nodiscard]] Universe idle_permits();
// Room for hardly anything.
[[nodiscard]] Universe tight_limits();
// Room for locks, but for few leases, sessions and entries that have expired.
[[nodiscard]] Universe few_leases();
// More names and inodes than calls, nearly.
[[nodiscard]] Universe many_locks();

}  // namespace holdfast::model
