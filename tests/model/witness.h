#pragma once

// Witness: what the engine chose where its rules leave the choice open.
//
// Who is granted, refused or timed out in a call is never open. What is: which of two leases that
// end in the same microsecond ends first, which of two waiters that become free in the same call
// (and do not exclude one another) gets the smaller number, and which of two locks that became idle
// together is forgotten first. The model follows the engine in these, and in nothing else.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/scope.h"

namespace holdfast::model {

struct Witness {
    struct Taken {
        core::Scope scope;
        std::string previous_owner;
    };

    struct Ended {
        core::Fence fence{};
        bool is_end_of_grace = false;

        bool operator==(const Ended&) const = default;
    };

    std::vector<Ended> ended;                    // in the order of their ends
    std::vector<std::uint64_t> granted_waiters;  // by their number, in the order of their grants
    std::vector<Taken> granted;
    std::function<bool(const core::Scope&)> has_lock;  // after the call

    [[nodiscard]] std::size_t place_of_end(const Ended& end) const {
        return static_cast<std::size_t>(std::find(ended.begin(), ended.end(), end) - ended.begin());
    }
    [[nodiscard]] std::size_t place_of_grant(std::uint64_t waiter) const {
        return static_cast<std::size_t>(
            std::find(granted_waiters.begin(), granted_waiters.end(), waiter) -
            granted_waiters.begin());
    }
};

}  // namespace holdfast::model
