#pragma once

// A deadlock, as data: a cycle of clients each of which waits for the next.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/ids.h"
#include "core/values/scope.h"

namespace holdfast::core {

// One client of a cycle. It waits for `waits_for`, which the next member of the cycle has, or
// stands ahead for. The last member waits for something of the first. A view.
struct CycleMember {
    Owner owner;
    std::string_view waiter = {};  // Notes::waiter of its request
    Scope waits_for;
    Owner held_by;
    Fence fence{};  // of the lease in the way; zero: an earlier waiter is in the way

    bool operator==(const CycleMember&) const = default;
};

// A deadlock that exists now.
struct Cycle {
    Time since;        // when the last of its members began to wait
    std::string text;  // its members: cycle_to_text()
};

// The deadlocks that exist now.
struct Deadlocks {
    std::vector<Cycle> cycles;
    // The search ended before it had looked at everything: there may be more.
    bool is_cut = false;
};

// The form in which a cycle travels in events and outcomes: a text, so that those without a cycle
// cost nothing. Each member is the door, the owner and the waiter of the client, the scope, the
// door and the owner of who is in the way, and the fencing number; all of them are fields
// (fields.h).
[[nodiscard]] std::string cycle_to_text(std::span<const CycleMember> members);

// Reads that form. The members point into `text`. No value for any other text, and none for a text
// without members.
[[nodiscard]] std::optional<std::vector<CycleMember>> parse_cycle(std::string_view text);

// For people: `ann waits for b of bob, bob waits for a of ann`.
[[nodiscard]] std::string describe_cycle(std::span<const CycleMember> members);

}  // namespace holdfast::core
