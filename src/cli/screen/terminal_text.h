#pragma once

// Text for terminals: what other people chose as names must not speak to the terminal, and columns
// must line up.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::cli {

// The text with everything escaped that a terminal would obey instead of showing: control
// characters (\n, \x1b, \u009b), what turns the direction of writing around (\u202e), and bytes
// that are no UTF-8 (\xff). A backslash stays as it is: this is for eyes, and --json for programs.
[[nodiscard]] std::string shown(std::string_view text);

// How many cells of a terminal it takes. REQUIRES: it came from shown().
[[nodiscard]] std::size_t cell_width(std::string_view text);

// As much of it as there is room for; an ellipsis stands for the rest.
// REQUIRES: it came from shown().
[[nodiscard]] std::string clipped(std::string_view text, std::size_t width_max);

enum class Style : std::uint8_t { plain, bold, faint, red, green, yellow, cyan, reverse };

// With the codes around it that make a terminal show it so; as it is, where they are not wanted.
[[nodiscard]] std::string styled(std::string_view text, Style style, bool has_colour);

// Whether whoever reads there wants to see colours: a terminal, and nobody has set NO_COLOR.
[[nodiscard]] bool wants_colour(int descriptor);

// The columns of the terminal there, or 0 if it is none.
[[nodiscard]] std::size_t terminal_width(int descriptor);

}  // namespace holdfast::cli
