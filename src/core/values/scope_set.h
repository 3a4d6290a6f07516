#pragma once

// Several scopes that one lease is on, and the text in which such a set is stored and carried.
//
// The text names the number of members and then each member with its mode, its number of permits
// (only if that is not 1) and the length of its scope's text form:
//
//     3;x 7:nightly,s 7:path:/x,x5 18:semaphore:printers,
//
// The lengths make it independent of the bytes in a name, and the number in front shows when a text
// was cut. Every set has exactly one text, so sets can be compared by their texts. The text of no
// members at all is empty: a lease on one scope has no set.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/scope.h"

namespace holdfast::core {

// One scope of a set, and how it is locked.
struct SetMember {
    Scope scope;
    Mode mode = Mode::exclusive;
    std::uint32_t limit = 1;  // semaphores only: how many permits there are

    bool operator==(const SetMember&) const = default;
};

// The text of a set, in the order of its members. REQUIRES: no member has an empty name, and every
// limit is above zero.
[[nodiscard]] std::string set_to_text(std::span<const SetMember> members);

// Reads the text of a set. No value for everything that set_to_text() does not write. The names of
// the members point into `text`.
[[nodiscard]] std::optional<std::vector<SetMember>> parse_set(std::string_view text);

// Two members of a set that have something in common: the same name, or overlapping ranges.
struct Overlap {
    std::size_t first = 0, second = 0;  // their places in the set
};

// A pair of members that overlap. No value if all members are apart, as they must be. Takes
// O(n log n) steps.
[[nodiscard]] std::optional<Overlap> find_overlap(std::span<const SetMember> members);

}  // namespace holdfast::core
