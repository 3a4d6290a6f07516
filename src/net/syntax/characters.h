#pragma once

// The characters of HTTP/1.1 (RFC 9110, section 5.6, and RFC 9112), and where runs of them end.
//
// Every byte of every request passes through here, so the functions look at sixteen bytes at a
// time where that is possible.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace holdfast::net {

namespace detail {

inline constexpr auto token_characters = [] {
    std::array<bool, 256> table{};
    for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
        table[static_cast<unsigned char>(c)] = true;
    }
    return table;
}();

using SixteenBytes = unsigned char __attribute__((vector_size(16)));

// The position of the first byte that is less than `least` or DEL; the size if there is none.
template <unsigned char least>
std::size_t find_below_or_delete(std::string_view text) {
    static_assert(std::endian::native == std::endian::little);
    std::size_t at = 0;
    for (; at + 16 <= text.size(); at += 16) {
        SixteenBytes bytes;
        std::memcpy(&bytes, text.data() + at, 16);
        const auto found = (bytes < least) | (bytes == 0x7f);  // 0xff for each byte that is
        std::array<std::uint64_t, 2> halves;
        std::memcpy(halves.data(), &found, 16);
        if (halves[0] != 0) return at + static_cast<std::size_t>(std::countr_zero(halves[0])) / 8;
        if (halves[1] != 0) {
            return at + 8 + static_cast<std::size_t>(std::countr_zero(halves[1])) / 8;
        }
    }
    for (; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte < least || byte == 0x7f) return at;
    }
    return text.size();
}

}  // namespace detail

// Whether a method or the name of a field may have this character.
inline bool is_token_character(char c) {
    return detail::token_characters[static_cast<unsigned char>(c)];
}

inline bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

// The positions of the first characters that are not of a token; of a request target; of the value
// of a field. Bytes beyond ASCII may stand in the last two. The size if there is no such character.
inline std::size_t token_size(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size() && is_token_character(text[at])) ++at;
    return at;
}
inline std::size_t target_size(std::string_view text) {
    return detail::find_below_or_delete<0x21>(text);
}
inline std::size_t value_size(std::string_view text) {
    for (std::size_t at = 0;; ++at) {
        at += detail::find_below_or_delete<0x20>(text.substr(at));
        if (at == text.size() || text[at] != '\t') return at;
    }
}

// The text without the spaces and tabs around it.
inline std::string_view trim_blanks(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace holdfast::net
