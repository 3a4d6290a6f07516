#pragma once

// Comparing secrets without telling how much of them was right.

#include <string_view>

namespace holdfast::base {

// Whether `a` and `b` are equal. For texts of one length, the time it takes does not depend on
// where or whether they differ; that their lengths differ may be learnt from it.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace holdfast::base
