#include "base/text/number.h"

#include <charconv>
#include <system_error>

namespace holdfast::base {

template <class Integer>
std::optional<Integer> parse_decimal(std::string_view text) {
    if (text.starts_with('-')) return std::nullopt;  // the one sign from_chars takes
    Integer value = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped_at, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stopped_at != end) return std::nullopt;
    return value;
}

template std::optional<std::uint16_t> parse_decimal(std::string_view text);
template std::optional<std::uint32_t> parse_decimal(std::string_view text);
template std::optional<std::uint64_t> parse_decimal(std::string_view text);
template std::optional<std::int64_t> parse_decimal(std::string_view text);

}  // namespace holdfast::base
