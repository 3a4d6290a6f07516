#pragma once

// Writing JSON: the one part of it that is easy to get wrong.

#include <string>
#include <string_view>

namespace holdfast::base {

// Appends `text` to `out` as a JSON string, quotes included.
//
// What is appended is valid JSON in valid UTF-8 whatever `text` holds: every byte that is no part
// of a well-formed UTF-8 sequence becomes one U+FFFD. Nothing else is lost, NUL and DEL included.
// REQUIRES: `text` is no view into `out`.
void append_json_string(std::string& out, std::string_view text);

}  // namespace holdfast::base
