#include "base/json.h"

#include <cstddef>

namespace holdfast::base {
namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

// Whether JSON takes an ASCII byte as it is.
constexpr bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

// The length of the well-formed UTF-8 sequence of several bytes that `text` starts with, or 0.
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

// Appends what stands for a byte that cannot be copied.
void append_escaped(std::string& out, unsigned char byte) {
    constexpr std::string_view digits = "0123456789abcdef";
    constexpr std::string_view with_short_form = "\"\\\b\f\n\r\t";
    constexpr std::string_view short_form = "\"\\bfnrt";
    const std::size_t at = with_short_form.find(static_cast<char>(byte));
    if (byte >= 0x80) {
        out += replacement_character;
    } else if (at != std::string_view::npos) {
        out += '\\';
        out += short_form[at];
    } else {
        out += "\\u00";
        out += digits[byte >> 4];
        out += digits[byte & 0xF];
    }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    std::size_t copied = 0;  // text before this is in `out`; from here to `at` it can go as it is
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (is_plain(byte)) {
            ++at;
        } else if (const auto length = multibyte_length(text.substr(at)); length > 0) {
            at += length;
        } else {
            out += text.substr(copied, at - copied);
            append_escaped(out, byte);
            copied = ++at;
        }
    }
    out += text.substr(copied);
    out += '"';
}

}  // namespace holdfast::base
