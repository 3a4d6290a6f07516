#pragma once

// UTF-8: which bytes are text, and which letters of a text a terminal obeys.

#include <cstddef>
#include <string_view>

namespace holdfast::base {

// The length of the well-formed UTF-8 sequence of several bytes that `text` starts with, or 0.
[[nodiscard]] std::size_t multibyte_length(std::string_view text);

// Whether all of `text` is well-formed: nothing cut off, no overlong form, no surrogate, nothing
// above U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

// The same of the beginning of a longer text, whose last letter may be cut off.
[[nodiscard]] bool is_utf8_beginning(std::string_view text);

struct Letter {
    char32_t code = 0;
    std::size_t bytes = 0;  // 0: the text does not begin with a well-formed letter
};

// REQUIRES: `text` is not empty.
[[nodiscard]] Letter first_letter(std::string_view text);

// Whether a terminal obeys the letter instead of showing it: control characters, and letters that
// change the direction of writing.
[[nodiscard]] bool is_obeyed_by_terminals(char32_t code);

}  // namespace holdfast::base
