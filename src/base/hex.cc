#include "base/hex.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace holdfast::base {
namespace {

constexpr std::size_t digit_count = 16;
constexpr std::string_view digits = "0123456789abcdef";

// The two digits of every byte, one after another.
constexpr auto byte_texts = [] {
    std::array<char, 512> texts{};
    for (std::size_t byte = 0; byte < 256; ++byte) {
        texts[2 * byte] = digits[byte >> 4];
        texts[2 * byte + 1] = digits[byte & 0xF];
    }
    return texts;
}();

// What every character stands for as a digit; more than a digit can be for all others.
constexpr std::uint8_t no_digit = 0xFF;
constexpr auto digit_values = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(no_digit);
    for (std::size_t digit = 0; digit < digits.size(); ++digit) {
        values[static_cast<unsigned char>(digits[digit])] = static_cast<std::uint8_t>(digit);
    }
    return values;
}();

}  // namespace

void write_hex(std::span<char, 16> out, std::uint64_t value) {
    for (std::size_t at = digit_count; at > 0; at -= 2, value >>= 8) {
        std::memcpy(&out[at - 2], &byte_texts[2 * (value & 0xFF)], 2);
    }
}

void append_hex(std::string& out, std::uint64_t value) {
    std::array<char, digit_count> text{};
    write_hex(text, value);
    out.append(text.data(), text.size());
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
    if (text.size() != digit_count) return std::nullopt;
    std::uint64_t value = 0;
    std::uint8_t seen = 0;  // all digits' bits: more than a digit's if one was none
    for (const char c : text) {
        const std::uint8_t digit = digit_values[static_cast<unsigned char>(c)];
        seen |= digit;
        value = value << 4 | digit;
    }
    if (seen > 0xF) return std::nullopt;
    return value;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::uint8_t byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 0xF];
    }
    return text;
}

bool parse_hex_bytes(std::string_view text, std::span<std::uint8_t> bytes) {
    if (text.size() != 2 * bytes.size()) return false;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        const std::size_t high = digits.find(text[2 * at]);
        const std::size_t low = digits.find(text[2 * at + 1]);
        if (high == std::string_view::npos || low == std::string_view::npos) return false;
        bytes[at] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return true;
}

}  // namespace holdfast::base
