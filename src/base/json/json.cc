#include "base/json/json.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text/append_all.h"
#include "base/text/utf8.h"

namespace holdfast::base {
namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

// Whether JSON takes an ASCII byte as it is.
constexpr auto plain_bytes = [] {
    std::array<bool, 256> table{};
    for (std::size_t byte = 0x20; byte < 0x80; ++byte) table[byte] = byte != '"' && byte != '\\';
    return table;
}();

bool is_plain(unsigned char byte) {
    return plain_bytes[byte];
}

// Appends what stands for a byte that cannot be copied.
void append_escaped(std::string& out, unsigned char byte) {
    constexpr std::string_view hex = "0123456789abcdef";
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
        out += hex[byte >> 4];
        out += hex[byte & 0xF];
    }
}

// Appends a text of which the first `plain` bytes can be copied.
void append_escaped(std::string& out, std::string_view text, std::size_t plain) {
    std::size_t copied = 0;  // text before this is in `out`; from here to `at` it can go as it is
    for (std::size_t at = plain; at < text.size();) {
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
}

}  // namespace

JsonText::JsonText(std::string_view text) : view_(text) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(static_cast<unsigned char>(text[plain]))) ++plain;
    if (plain == text.size()) return;
    append_escaped(escaped_, text, plain);
    view_ = escaped_;
}

void append_json_string(std::string& out, std::string_view text) {
    append_all(out, "\"", JsonText(text).view(), "\"");
}

}  // namespace holdfast::base
