#pragma once

// HTTP messages as the handlers see them: a request is a set of views, a response is bytes.
//
// Lifetime: everything in a HttpRequest is valid during HttpHandler::handle() only.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/loop/channel.h"

namespace holdfast::net {

struct HttpHeader {
    std::string_view name;
    std::string_view value;
};

// Where a part of a request is in its bytes, which move while it grows.
struct TextPlace {
    std::uint16_t at, bytes;

    [[nodiscard]] std::string_view in(const char* message) const { return {message + at, bytes}; }
};
// REQUIRES: the part lies in the first 64 KiB after `message`.
[[nodiscard]] inline TextPlace place_of(const char* message, std::string_view part) {
    return {static_cast<std::uint16_t>(part.data() - message),
            static_cast<std::uint16_t>(part.size())};
}

// The header fields of a request, as positions in its bytes: the bytes move while it grows.
class HttpFields {
  public:
    static constexpr std::size_t count_max = 64;

    // Where a field is, from the first one on.
    struct Places {
        TextPlace name, value;
    };

    // Says where in the message the fields are. All of them move with it.
    void begin_at(std::size_t position) { begin_ = position; }

    // False if there are too many. REQUIRES: both lie in the first 64 KiB after `message`.
    [[nodiscard]] bool add(const char* message, const HttpHeader& field) {
        if (count_ == count_max) return false;
        const char* const begin = message + begin_;
        places_[count_++] = {place_of(begin, field.name), place_of(begin, field.value)};
        return true;
    }

    // The value of the first field called `name`, in upper or lower case.
    [[nodiscard]] std::optional<std::string_view> find(const char* message,
                                                       std::string_view name) const;

    [[nodiscard]] std::span<const Places> places() const {
        return std::span(places_).first(count_);
    }
    // Replaces all. REQUIRES: there are not too many.
    void set(std::span<const Places> places) {
        count_ = places.size();
        std::copy(places.begin(), places.end(), places_.begin());
    }

  private:
    std::size_t begin_ = 0;
    std::size_t count_ = 0;
    std::array<Places, count_max> places_;
};

struct HttpRequest {
    std::string_view method;
    std::string_view target;  // as sent: "/lock/a%20b?client=x"
    std::string_view path;    // "/lock/a%20b", not decoded; see url.h
    std::string_view query;   // "client=x", not decoded; empty when there is none
    std::string_view body;

    // The value of a header, whose name is compared without regard to case.
    [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const {
        return fields->find(message, name);
    }

    // Where the client is. Empty if that is not known.
    [[nodiscard]] std::string_view client_host() const {
        return client == nullptr ? std::string_view() : std::string_view(client->text());
    }

    const HttpFields* fields;
    const char* message;
    const ClientHost* client = nullptr;
};

// The path in a target, and the query behind it. A client that thinks this server is a proxy sends an
// absolute target, `http://box:8080/lock`; its path begins after the authority.
struct TargetParts {
    std::string_view path;   // never empty
    std::string_view query;  // empty when there is none
};
[[nodiscard]] TargetParts split_target(std::string_view target);

// The token in `Authorization: Bearer <token>`; empty if there is none.
[[nodiscard]] std::string_view bearer_token(const HttpRequest& request);
// The password in `Authorization: Basic <user:password in Base64>`, whoever the user is; nullopt if
// there is none.
[[nodiscard]] std::optional<std::string> basic_password(const HttpRequest& request);

struct HttpResponse {
    int status;
    std::string_view content_type;  // empty: the header is omitted
    std::string_view body;
    std::span<const HttpHeader> headers = {};
    std::optional<std::uint64_t> length = {};  // of a streamed body, if it is known
};

class RouteCounts;

// What a request asks of its response, and where the response is counted.
struct HttpTerms {
    bool keep_alive = false;   // false: the connection closes after the response
    bool head = false;         // a HEAD: the response has a header only
    bool http_1_0 = false;     // a header must say that the connection stays open
    bool plain = false;        // of a stream: its length is known, so pieces need no chunks
    bool may_be_long = false;  // a GET, whose response may be long
    // Whole header lines that the response has beside its own; null: none.
    std::shared_ptr<const std::string> more_headers = {};
    RouteCounts* counts = nullptr;                     // null: it is not counted
    std::chrono::steady_clock::time_point begun = {};  // when the turn of the request began
};

// Appends the response: status line, Date, Content-Type, Content-Length, Connection where needed,
// then the headers of the response. Control characters in these become spaces, so that no value can
// forge a second header.
void append_response(std::string& out, const HttpResponse& response, const HttpTerms& terms);

// The functions below are for a response whose body follows in pieces: as many bytes as were
// announced; or in chunks; or up to the end of the connection, for a client of HTTP/1.0.

// Whether a body follows the header at all.
[[nodiscard]] bool has_body(int status, const HttpTerms& terms);
// Appends the header. The body in `response` is not used.
// REQUIRES: with http_1_0, not keep_alive, unless no body follows or its length is known.
void append_stream_header(std::string& out, const HttpResponse& response, const HttpTerms& terms);
// REQUIRES: the piece is not empty.
void append_stream_piece(std::string& out, std::string_view piece, const HttpTerms& terms);
void append_stream_end(std::string& out, const HttpTerms& terms);

}  // namespace holdfast::net
