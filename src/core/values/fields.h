#pragma once

// Texts that are made of other texts. Each part is preceded by its length (`5:hello`), so that a
// part may have any bytes.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::core {

inline void append_field(std::string& text, std::string_view field) {
    text.append(std::to_string(field.size())).append(":").append(field);
}

// Takes a number and the character behind it from the front of `text`.
[[nodiscard]] inline std::optional<std::uint64_t> take_number(std::string_view& text, char end) {
    std::uint64_t number = 0;
    const char* const last = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), last, number);
    if (error != std::errc{} || after == last || *after != end) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(after - text.data()) + 1);
    return number;
}

// Takes a field from the front of `text`. The result points into `text`.
[[nodiscard]] inline std::optional<std::string_view> take_field(std::string_view& text) {
    const auto size = take_number(text, ':');
    if (!size || *size > text.size()) return std::nullopt;
    const std::string_view field = text.substr(0, *size);
    text.remove_prefix(*size);
    return field;
}

}  // namespace holdfast::core
