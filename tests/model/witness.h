#pragma once

// Witness: what the engine chose where its rules leave the choice open.
//
// Which request is granted, refused or times out in a call is never open. These choices are open:
//
//  - which of two leases that end in the same microsecond ends first, and whether the name of an
//    owner that is forgotten in that microsecond is still told (T6)
//  - which of several leases of one owner is renewed, reclaimed or released when the owner does not
//    name one by its token (R2)
//  - which of two waiters that are granted in the same call, and do not exclude each other, gets the
//    smaller number (Q9)
//  - which of two locks that became idle together is forgotten first (N2)
//
// The model follows the engine in these, and in nothing else. The rules are in rules.md.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/values/ids.h"
#include "core/values/scope.h"

namespace holdfast::model {

struct Witness {
    struct Ended {
        core::Fence fence{};
        bool is_end_of_grace = false;

        bool operator==(const Ended&) const = default;
    };

    struct Told {
        core::Scope lock;
        std::string previous_owner;

        bool operator==(const Told&) const = default;
    };

    std::vector<Ended> ended;  // in the order of their ends
    std::vector<Told> told;
    std::vector<core::Fence> chosen;             // renewed, released or reclaimed
    std::vector<std::uint64_t> granted_waiters;  // by their number, in the order of their grants
    std::function<bool(const core::Scope&)> has_lock;  // after the call

    // Whether a new holder of the lock was told that `name` was its last owner.
    [[nodiscard]] bool is_told(const core::Scope& lock, const std::string& name) const {
        return std::find(told.begin(), told.end(), Told{lock, name}) != told.end();
    }
    [[nodiscard]] bool is_chosen(core::Fence fence) const {
        return std::find(chosen.begin(), chosen.end(), fence) != chosen.end();
    }
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
