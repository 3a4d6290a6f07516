#include "base/hex.h"

#include <cstddef>

namespace holdfast::base {
namespace {

constexpr std::size_t digit_count = 16;
constexpr std::string_view digits = "0123456789abcdef";

}  // namespace

void append_hex(std::string& out, std::uint64_t value) {
    char text[digit_count];
    for (std::size_t at = digit_count; at-- > 0; value >>= 4) text[at] = digits[value & 0xF];
    out.append(text, digit_count);
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
    if (text.size() != digit_count) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : text) {
        const std::size_t digit = digits.find(c);
        if (digit == std::string_view::npos) return std::nullopt;
        value = value << 4 | digit;
    }
    return value;
}

}  // namespace holdfast::base
