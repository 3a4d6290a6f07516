#pragma once

// UTF-8: which bytes are text.

#include <cstddef>
#include <string_view>

namespace holdfast::base {

// The length of the well-formed UTF-8 sequence of several bytes that `text` starts with, or 0.
[[nodiscard]] std::size_t multibyte_length(std::string_view text);

// Whether all of `text` is well-formed: nothing cut off, no overlong form, no surrogate, nothing
// above U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace holdfast::base
