#pragma once

// Text for terminals. Names that other people chose must not control the terminal, and columns must
// line up.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::cli {

// Escapes everything that a terminal would obey instead of showing: control characters (\n, \x1b,
// \u009b), letters that change the direction of writing (\u202e), and bytes that are not UTF-8
// (\xff). A backslash is not escaped: this is for people; programs use --json.
[[nodiscard]] std::string escape(std::string_view text);

// How many cells of a terminal the text uses. REQUIRES: the text came from escape().
[[nodiscard]] std::size_t cell_width(std::string_view text);

// The beginning of the text that fits into `width_max` cells, with an ellipsis if the text is longer.
// REQUIRES: the text came from escape().
[[nodiscard]] std::string clipped(std::string_view text, std::size_t width_max);

enum class Style : std::uint8_t { plain, bold, faint, red, green, yellow, cyan, reverse };

// The text between the codes for the style; without them if `has_colour` is false.
[[nodiscard]] std::string styled(std::string_view text, Style style, bool has_colour);

// Whether the descriptor is a terminal that shows colours, and NO_COLOR is not set.
[[nodiscard]] bool wants_colour(int descriptor);

// The columns of the terminal, or 0 if the descriptor is not a terminal.
[[nodiscard]] std::size_t terminal_width(int descriptor);

// `0.4s`, `24.5s`, `4m05s`, `2h03m`, `3d04h`: never longer than six cells. A time below zero is
// `0.0s`.
[[nodiscard]] std::string countdown(std::chrono::milliseconds left);

// `2024-01-15T10:30:00.123Z`, from milliseconds since 1970. Empty if the year has not four digits.
[[nodiscard]] std::string moment(std::int64_t unix_ms);

}  // namespace holdfast::cli
