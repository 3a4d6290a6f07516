#pragma once

// One line of a header or trailer, `name: value`, and the fields that say how a request is read.
//
// Every request calls these functions for each of its fields. They are inlined always: the calls alone
// would be a tenth of what the header costs.

#include <boost/beast/core/string.hpp>
#include <cstdint>
#include <string_view>

#include "net/http/http_message.h"
#include "net/syntax/characters.h"

namespace holdfast::net {

enum class FieldOutcome : std::uint8_t { need_more, complete, malformed };

// Takes a field and its line end off the front of `text`. The value is without the blanks around it.
[[nodiscard, gnu::always_inline]] inline FieldOutcome take_field(std::string_view& text,
                                                                 HttpHeader& field) {
    const std::size_t name_size = token_size(text);
    if (name_size == text.size()) return FieldOutcome::need_more;
    if (name_size == 0 || text[name_size] != ':') return FieldOutcome::malformed;
    const std::string_view rest = text.substr(name_size + 1);
    const std::size_t size = value_size(rest);
    if (size < rest.size() && rest[size] != '\r') return FieldOutcome::malformed;
    if (rest.size() - size < 2) return FieldOutcome::need_more;
    if (rest[size + 1] != '\n') return FieldOutcome::malformed;
    field = {text.substr(0, name_size), trim_blanks(rest.substr(0, size))};
    text.remove_prefix(name_size + 1 + size + 2);
    return FieldOutcome::complete;
}

// Whether the words are equal in upper or lower case.
[[nodiscard]] inline bool is_same_word(std::string_view word, std::string_view other) {
    return boost::beast::iequals({word.data(), word.size()}, {other.data(), other.size()});
}

enum class FramingField : std::uint8_t {
    none,
    host,
    connection,
    content_length,
    transfer_encoding,
    expect
};

// Most fields are none of these, and their size and first letter tell.
[[nodiscard, gnu::always_inline]] inline FramingField framing_field(std::string_view name) {
    const auto is = [name](std::string_view other) {
        return (name.front() | 0x20) == other.front() && is_same_word(name, other);
    };
    using enum FramingField;
    switch (name.size()) {
        case 4: return is("host") ? host : none;
        case 6: return is("expect") ? expect : none;
        case 10: return is("connection") ? connection : none;
        case 14: return is("content-length") ? content_length : none;
        // Some clients say to their proxy what they mean for everybody.
        case 16: return is("proxy-connection") ? connection : none;
        case 17: return is("transfer-encoding") ? transfer_encoding : none;
        default: return none;
    }
}

}  // namespace holdfast::net
