#pragma once

// Decimal numbers in other people's input.

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::base {

// The number that the whole of `text` spells in decimal digits and nothing else: no sign (so never
// less than zero), no space, no fraction. No value, too, where the number does not fit into
// Integer. Leading zeros are fine. Made for the four types below.
template <class Integer>
[[nodiscard]] std::optional<Integer> parse_decimal(std::string_view text);

extern template std::optional<std::uint16_t> parse_decimal(std::string_view text);
extern template std::optional<std::uint32_t> parse_decimal(std::string_view text);
extern template std::optional<std::uint64_t> parse_decimal(std::string_view text);
extern template std::optional<std::int64_t> parse_decimal(std::string_view text);

}  // namespace holdfast::base
