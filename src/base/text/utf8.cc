#include "base/text/utf8.h"

#include <algorithm>
#include <array>

namespace holdfast::base {

// The narrowed second bytes are what keeps out overlong forms, surrogates and all above U+10FFFF
// (Unicode 15, table 3-7).
std::size_t multibyte_length(std::string_view text) {
    const auto within = [text](std::size_t at, unsigned low, unsigned high) {
        if (at >= text.size()) return false;
        const auto byte = static_cast<unsigned char>(text[at]);
        return low <= byte && byte <= high;
    };
    const auto continues = [&within](std::size_t at) { return within(at, 0x80, 0xBF); };

    if (within(0, 0xC2, 0xDF)) return continues(1) ? 2 : 0;
    if (within(0, 0xE0, 0xEF)) {
        const unsigned low = text[0] == '\xE0' ? 0xA0 : 0x80;
        const unsigned high = text[0] == '\xED' ? 0x9F : 0xBF;
        return within(1, low, high) && continues(2) ? 3 : 0;
    }
    if (within(0, 0xF0, 0xF4)) {
        const unsigned low = text[0] == '\xF0' ? 0x90 : 0x80;
        const unsigned high = text[0] == '\xF4' ? 0x8F : 0xBF;
        return within(1, low, high) && continues(2) && continues(3) ? 4 : 0;
    }
    return 0;
}

bool is_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const bool is_ascii = static_cast<unsigned char>(text[at]) < 0x80;
        const std::size_t length = is_ascii ? 1 : multibyte_length(text.substr(at));
        if (length == 0) return false;
        at += length;
    }
    return true;
}

bool is_utf8_beginning(std::string_view text) {
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; };
    const auto first = std::find_if_not(text.rbegin(), text.rend(), continues);
    if (first == text.rend()) return text.empty();
    const auto following = static_cast<unsigned>(first - text.rbegin());
    const auto lead = static_cast<unsigned char>(*first);
    const unsigned wanted = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    const bool is_cut_off = lead >= 0xC2 && lead <= 0xF4 && following < wanted;
    return is_utf8(is_cut_off ? text.substr(0, text.size() - following - 1) : text);
}

Letter first_letter(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) return {.code = lead, .bytes = 1};
    const std::size_t bytes = multibyte_length(text);
    if (bytes == 0) return {};
    char32_t code = lead & (0x7FU >> bytes);
    for (const char byte : text.substr(1, bytes - 1)) {
        code = (code << 6U) | (static_cast<unsigned char>(byte) & 0x3FU);
    }
    return {.code = code, .bytes = bytes};
}

bool is_obeyed_by_terminals(char32_t code) {
    struct Span {
        char32_t first, last;
    };
    static constexpr std::array<Span, 6> spans{{{0x00, 0x1F},
                                                {0x7F, 0x9F},
                                                {0x061C, 0x061C},
                                                {0x200E, 0x200F},
                                                {0x2028, 0x202E},
                                                {0x2066, 0x2069}}};
    return std::any_of(spans.begin(), spans.end(),
                       [&](const Span& span) { return code >= span.first && code <= span.last; });
}

}  // namespace holdfast::base
