#pragma once

// Comparing secrets without revealing how much of a guess was right.

#include <string_view>

namespace holdfast::base {

// Whether `a` and `b` are equal. For texts of the same length, the time it takes does not depend on
// where or whether they differ. An attacker may learn from the time that the lengths differ.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace holdfast::base
