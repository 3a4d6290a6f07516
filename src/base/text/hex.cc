#include "base/text/hex.h"

#include <openssl/evp.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

namespace holdfast::base {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

// Eight characters or digits at a time, one in each byte of a word, the first in the lowest.
constexpr std::size_t half = sizeof(std::uint64_t);
constexpr std::uint64_t ones = 0x0101010101010101;

// The characters of eight digits.
constexpr std::uint64_t to_characters(std::uint64_t values) {
    const std::uint64_t letters = (values + 6 * ones) >> 4 & ones;  // 1 where it is more than 9
    return values + '0' * ones + letters * ('a' - '0' - 10);
}

// The digits of eight characters. Makes no sense where one is none.
constexpr std::uint64_t to_values(std::uint64_t characters) {
    const std::uint64_t letters = characters >> 6 & ones;
    return (characters & 0xF * ones) + letters * 9;
}

// The digits of a number, the first of which is the highest; and the number of such digits.
constexpr std::uint64_t spread(std::uint32_t number) {
    std::uint64_t word = number;
    word = (word | word << 16) & 0x0000'FFFF'0000'FFFF;
    word = (word | word << 8) & 0x00FF'00FF'00FF'00FF;
    word = (word | word << 4) & 0x0F0F'0F0F'0F0F'0F0F;
    return __builtin_bswap64(word);
}

constexpr std::uint32_t gather(std::uint64_t values) {
    std::uint64_t word = __builtin_bswap64(values);
    word = (word | word >> 4) & 0x00FF'00FF'00FF'00FF;
    word = (word | word >> 8) & 0x0000'FFFF'0000'FFFF;
    return static_cast<std::uint32_t>(word | word >> 16);
}

}  // namespace

void write_hex(std::span<char, hex_digits> place, std::uint64_t value) {
    static_assert(std::endian::native == std::endian::little);
    const std::uint64_t first = to_characters(spread(static_cast<std::uint32_t>(value >> 32)));
    const std::uint64_t second = to_characters(spread(static_cast<std::uint32_t>(value)));
    std::memcpy(place.data(), &first, half);
    std::memcpy(place.data() + half, &second, half);
}

void append_hex(std::string& out, std::uint64_t value) {
    char text[hex_digits];
    write_hex(text, value);
    out.append(text, hex_digits);
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
    if (text.size() != hex_digits) return std::nullopt;
    std::uint64_t first = 0, second = 0;
    std::memcpy(&first, text.data(), half);
    std::memcpy(&second, text.data() + half, half);
    const std::uint64_t high = to_values(first), low = to_values(second);
    // Rejects text that does not convert back to the same characters.
    const bool are_digits = ((high | low) & 0xF0 * ones) == 0 && to_characters(high) == first &&
                            to_characters(low) == second;
    if (!are_digits) return std::nullopt;
    return std::uint64_t{gather(high)} << 32 | gather(low);
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

std::string to_hex(std::string_view bytes) {
    return to_hex(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

std::optional<std::string> decode_hex(std::string_view text) {
    std::string bytes(text.size() / 2, '\0');
    auto* const begin = reinterpret_cast<std::uint8_t*>(bytes.data());
    if (!parse_hex_bytes(text, std::span(begin, bytes.size()))) return std::nullopt;
    return bytes;
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

namespace {

bool is_digit_of_base64(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
    if (text.size() % 4 != 0 || text.size() > std::numeric_limits<int>::max()) return std::nullopt;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    const std::string_view unpadded = text.substr(0, text.size() - padding);
    if (!std::all_of(unpadded.begin(), unpadded.end(), is_digit_of_base64)) return std::nullopt;
    std::string bytes(text.size() / 4 * 3, '\0');
    const int decoded = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                        reinterpret_cast<const unsigned char*>(text.data()),
                                        static_cast<int>(text.size()));
    if (decoded < 0) return std::nullopt;
    bytes.resize(bytes.size() - padding);
    return bytes;
}

}  // namespace holdfast::base
