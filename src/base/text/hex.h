#pragma once

// Bytes and numbers as printable characters: hexadecimal digits and Base64.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::base {

// 64-bit numbers as 16 lower-case hexadecimal digits, the form in which tokens travel: fixed width,
// so that the text sorts as the numbers do. And bytes as two digits each, the form of hashes.

inline constexpr std::size_t hex_digits = 16;

// Writes exactly 16 digits, leading zeros included, to `place`, or at the end of a text.
void write_hex(std::span<char, hex_digits> place, std::uint64_t value);
void append_hex(std::string& out, std::uint64_t value);

// The number that append_hex() wrote as `text`. Anything else has no value: another length, upper
// case, a prefix. So a number has one spelling, and tokens may be compared as text.
[[nodiscard]] std::optional<std::uint64_t> parse_hex(std::string_view text);

// Two digits a byte.
[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);
[[nodiscard]] std::string to_hex(std::string_view bytes);

// Fills `bytes` with what to_hex() wrote as `text`. False, and nothing promised about `bytes`, for
// any other text: of another length, with upper case.
[[nodiscard]] bool parse_hex_bytes(std::string_view text, std::span<std::uint8_t> bytes);

// The bytes that to_hex() wrote as `text`. Nothing for any other text: an odd length, upper case.
[[nodiscard]] std::optional<std::string> decode_hex(std::string_view text);

// The bytes that `text` spells in Base64 (RFC 4648), padded with `=` to a multiple of four
// characters. Nothing for any other text: no space and no line end is skipped.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace holdfast::base
