#pragma once

// RequestHead: the first line of a request and its header fields, and what they say about the body
// and the connection.
//
// read_head() is strict. It refuses whatever two programs could understand differently, because a
// proxy in front of this server would then see other requests than the server does:
//
//     - a line that ends in anything but CR LF, a control character, a blank before a colon
//     - a field that goes on in the next line
//     - a second Content-Length, even an equal one, or one beside a Transfer-Encoding
//     - a Transfer-Encoding other than `chunked`, or in HTTP/1.0
//     - a second Host
//
// docs/decisions/0032 says why this is not left to Beast, and where it is stricter.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "net/http/http_message.h"
#include "net/syntax/http_fault.h"

namespace holdfast::net {

class KnownFields;

// What the fields say about the body and the connection.
struct FieldMeaning {
    std::optional<std::uint64_t> content_length = {};
    bool is_chunked = false;
    bool has_host = false;
    bool expects_continue = false;
    bool asks_to_close = false;  // `Connection: close`
    bool asks_to_stay = false;   // `Connection: keep-alive`
};

struct RequestHead : FieldMeaning {
    std::size_t bytes = 0;  // of the head, with the empty line at its end; 0: it was not read
    TextPlace method{}, target{};
    HttpFields fields;
    bool is_http_1_0 = false;

    [[nodiscard]] bool keeps_connection() const {
        return !asks_to_close && (asks_to_stay || !is_http_1_0);
    }
};

enum class HeadOutcome : std::uint8_t { need_more, complete, refused };

// Reads the head at the front of `message`. After `refused`, `fault` says why. Fields that are in
// `known` are not read again; null: all are read.
// REQUIRES: `head` is as it was made; the message has less than 64 KiB.
[[nodiscard]] HeadOutcome read_head(std::string_view message, RequestHead& head,
                                    const HttpFault*& fault, KnownFields* known = nullptr);

}  // namespace holdfast::net
