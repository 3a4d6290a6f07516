#include "net/client/url.h"

namespace holdfast::net {

namespace {

// The value of a hexadecimal digit, or -1.
int digit_value(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

// Whether decoding leaves the text as it is, as it does nearly always.
bool is_plain(std::string_view text) {
    return text.find_first_of("%+") == std::string_view::npos;
}

base::Result<std::string> decode(std::string_view text, char plus) {
    if (is_plain(text)) return std::string(text);
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+') {
            out.push_back(plus);
        } else if (text[i] != '%') {
            out.push_back(text[i]);
        } else {
            const int high = i + 2 < text.size() ? digit_value(text[i + 1]) : -1;
            const int low = high >= 0 ? digit_value(text[i + 2]) : -1;
            if (low < 0) return base::fail("a % is not followed by two hexadecimal digits");
            out.push_back(static_cast<char>(high * 16 + low));
            i += 2;
        }
    }
    return out;
}

}  // namespace

base::Result<std::string> percent_decode(std::string_view text) {
    return decode(text, '+');
}

base::Result<std::string> form_decode(std::string_view text) {
    return decode(text, ' ');
}

std::string percent_encode(std::string_view text) {
    static constexpr std::string_view digits = "0123456789ABCDEF";
    static constexpr std::string_view unreserved =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    std::string out;
    out.reserve(text.size());
    for (const char byte : text) {
        if (unreserved.find(byte) != std::string_view::npos) {
            out.push_back(byte);
        } else {
            const auto value = static_cast<unsigned char>(byte);
            out.append({'%', digits[value >> 4], digits[value & 15]});
        }
    }
    return out;
}

namespace {

base::Result<bool> decodes_to(std::string_view text, std::string_view name) {
    if (is_plain(text)) return text == name;
    TRY(const auto decoded, form_decode(text));
    return decoded == name;
}

}  // namespace

// It reads as a phrase: the query's parameter so-and-so.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
base::Result<std::optional<std::string>> query_parameter(std::string_view query,
                                                         std::string_view name) {
    while (!query.empty()) {
        const auto end = query.find('&');
        const auto pair = query.substr(0, end);
        query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);

        const auto equals = pair.find('=');
        TRY(const bool is_it, decodes_to(pair.substr(0, equals), name));
        if (!is_it) continue;
        if (equals == std::string_view::npos) return std::string();
        TRY(auto value, form_decode(pair.substr(equals + 1)));
        return value;
    }
    return std::nullopt;
}

}  // namespace holdfast::net
