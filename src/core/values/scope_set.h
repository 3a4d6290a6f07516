#pragma once

// Several scopes that one lease covers: a set. Its scopes are its members.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/scope.h"

namespace holdfast::core {

// One scope of a set, and how it is locked. A view: the name belongs to the caller.
struct SetMember {
    Scope scope;
    Mode mode = Mode::exclusive;
    std::uint32_t limit = 1;  // semaphores only: how many permits there are

    bool operator==(const SetMember&) const = default;
};

// The form in which a set is stored. For each member: `x` (exclusive) or `s` (shared), the limit,
// and the text form of the scope with its length in front: `x1:7:nightlys1:7:path:/a`. Names may
// have any bytes. Permits have no mode, and nothing else has a limit: what a request says of these
// is left out.
[[nodiscard]] std::string set_to_text(std::span<const SetMember> members);

// Reads that form. The names of the members point into `text`. No value for any other text, and
// none for a text without members.
[[nodiscard]] std::optional<std::vector<SetMember>> parse_set(std::string_view text);

// Two members of a set that have something in common: the same name, or overlapping ranges.
struct Overlap {
    std::size_t first = 0, second = 0;  // their places in the set
};

// A pair of members that overlap. No value if all members are apart, as they must be. Takes
// O(n log n) steps.
[[nodiscard]] std::optional<Overlap> find_overlap(std::span<const SetMember> members);

}  // namespace holdfast::core
