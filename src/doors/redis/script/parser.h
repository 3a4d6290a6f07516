#pragma once

// Makes the tree of a script, or says what in it is not understood.

#include <string_view>

#include "base/result.h"
#include "doors/redis/script/tree.h"

namespace holdfast::doors::redis {

// How deep the statements and expressions of a script may be nested.
inline constexpr int script_depth_max = 40;
// How high the tree of an expression may be. `1 + 1 + 1` is a tree of three levels without any
// nesting in the text.
inline constexpr int script_height_max = 64;
// How many local variables the script or a function may have at one place.
inline constexpr std::size_t script_variables_max = 200;

// The error names the line and what was not understood.
[[nodiscard]] base::Result<Script> parse_script(std::string_view text);

}  // namespace holdfast::doors::redis
