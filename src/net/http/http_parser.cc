#include "net/http/http_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <utility>

#include "base/check.h"

namespace holdfast::net {

namespace http = boost::beast::http;

namespace {

#define HOLDFAST_FAULT(reason) \
    "{\"error\":\"" reason "\",\"message\":\"The request cannot be read: " reason "\"}\n"
constexpr HttpFault malformed{400, HOLDFAST_FAULT("malformed HTTP request")};
constexpr HttpFault folded{400, HOLDFAST_FAULT("header field folded over several lines")};
constexpr HttpFault chunked_1_0{400, HOLDFAST_FAULT("Transfer-Encoding in an HTTP/1.0 request")};
constexpr HttpFault bad_length{400, HOLDFAST_FAULT("bad or conflicting Content-Length")};
constexpr HttpFault no_host{400, HOLDFAST_FAULT("an HTTP/1.1 request needs a Host")};
constexpr HttpFault several_hosts{400, HOLDFAST_FAULT("more than one Host")};
constexpr HttpFault bad_chunk{400, HOLDFAST_FAULT("malformed chunked body")};
constexpr HttpFault body_too_big{413, HOLDFAST_FAULT("request body too large")};
constexpr HttpFault target_too_long{414, HOLDFAST_FAULT("request target too long")};
constexpr HttpFault unknown_expectation{417, HOLDFAST_FAULT("only Expect: 100-continue is known")};
constexpr HttpFault header_too_big{431, HOLDFAST_FAULT("request header too large")};
constexpr HttpFault unknown_coding{501, HOLDFAST_FAULT("only Transfer-Encoding: chunked is known")};
constexpr HttpFault not_http_1{505, HOLDFAST_FAULT("only HTTP/1.0 and HTTP/1.1 are spoken")};
#undef HOLDFAST_FAULT

// A chunked body that has not ended still needs at least this many bytes: "0 CR LF CR LF". Beast
// asserts that it is not called with fewer.
constexpr std::size_t chunked_rest_bytes_min = 5;

std::string_view std_view(boost::beast::string_view text) {
    return {text.data(), text.size()};
}

// Whether the first line ends in HTTP/<digit>.<digit>, whatever the version.
bool names_http_version(std::string_view message) {
    const auto line = message.substr(0, message.find("\r\n"));
    const auto version = line.substr(line.rfind(' ') + 1);
    return version.size() == 8 && version.starts_with("HTTP/") && version[6] == '.';
}

}  // namespace

HttpParser::HttpParser(const HttpLimits& limits) : limits_(limits) {
    CHECK(limits.header_bytes_max < 65536);
    header_limit(static_cast<std::uint32_t>(limits.header_bytes_max));
    body_limit(boost::none);  // checked below: a body in pieces may have any size
}

HttpParser::Outcome HttpParser::parse(std::string_view message) {
    const auto outcome = parse_header(message);
    return outcome == Outcome::complete ? parse_body(message) : outcome;
}

HttpParser::Outcome HttpParser::parse_header(std::string_view message) {
    message_ = message.data();
    if (header_bytes_ > 0) return Outcome::complete;
    ErrorCode error;
    parsed_ += put({message.data() + parsed_, message.size() - parsed_}, error);
    if (error == http::error::need_more && message.size() < limits_.header_bytes_max) {
        return Outcome::need_more;
    }
    if (fault_) return Outcome::refused;
    if (error == http::error::need_more || parsed_ > limits_.header_bytes_max) {
        error = http::error::header_limit;
    }
    if (error) return refuse(error, message);
    if (limits_.needs_host && host_count_ == 0 && version_ >= 11) return refuse(no_host);
    header_bytes_ = parsed_;
    if (chunked()) {
        if (version_ < 11) return refuse(chunked_1_0);
        eager(true);
    }
    return Outcome::complete;
}

HttpParser::Outcome HttpParser::parse_body(std::string_view message) {
    if (chunked()) return parse_chunks(message);
    if (content_length().value_or(0) > limits_.body_bytes_max) return refuse(body_too_big);
    size_ = header_bytes_ + static_cast<std::size_t>(content_length().value_or(0));
    return message.size() < size_ ? Outcome::need_more : Outcome::complete;
}

HttpParser::Outcome HttpParser::parse_chunks(std::string_view message) {
    while (!is_done()) {
        const std::size_t rest = message.size() - parsed_;
        if (rest < chunked_rest_bytes_min) return Outcome::need_more;
        ErrorCode error;
        parsed_ += put({message.data() + parsed_, rest}, error);
        if (error && error != http::error::need_more) return refuse(error, message);
        // Tiny chunks and long extensions may make a small body large.
        if (parsed_ - header_bytes_ > 2 * limits_.body_bytes_max + limits_.header_bytes_max) {
            return refuse(body_too_big);
        }
        if (error && message.size() - parsed_ > limits_.header_bytes_max) return refuse(bad_chunk);
        if (error) return Outcome::need_more;
    }
    size_ = parsed_;
    return Outcome::complete;
}

HttpParser::Outcome HttpParser::parse_piece(std::string_view& input, BodySink& sink) {
    sink_ = &sink;
    if (chunked()) return parse_streamed_chunks(input);
    const std::uint64_t rest = content_length().value_or(0) - streamed_;
    const auto piece =
        input.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(rest, input.size())));
    input.remove_prefix(piece.size());
    streamed_ += piece.size();
    if (!piece.empty()) sink.on_piece(piece);
    return piece.size() < rest ? Outcome::need_more : Outcome::complete;
}

HttpParser::Outcome HttpParser::parse_streamed_chunks(std::string_view& input) {
    while (!is_done()) {
        if (input.size() < chunked_rest_bytes_min) return Outcome::need_more;
        ErrorCode error;
        input.remove_prefix(put({input.data(), input.size()}, error));
        if (error && error != http::error::need_more) return refuse(error, input);
        if (error && input.size() > limits_.header_bytes_max) return refuse(bad_chunk);
        if (error) return Outcome::need_more;
    }
    return Outcome::complete;
}

std::optional<std::uint64_t> HttpParser::body_size() const {
    if (chunked()) return std::nullopt;
    return content_length().value_or(0);
}

HttpParser::Outcome HttpParser::refuse(const HttpFault& fault) {
    fault_ = &fault;
    return Outcome::refused;
}

HttpParser::Outcome HttpParser::refuse(const ErrorCode& error, std::string_view message) {
    if (fault_) return Outcome::refused;
    switch (static_cast<http::error>(error.value())) {
        case http::error::header_limit:
            return refuse(message.find("\r\n") == message.npos ? target_too_long : header_too_big);
        case http::error::bad_version:
            return refuse(names_http_version(message) ? not_http_1 : malformed);
        case http::error::bad_content_length:
        case http::error::multiple_content_length:
        case http::error::bad_transfer_encoding: return refuse(bad_length);
        case http::error::bad_chunk:
        case http::error::bad_chunk_extension: return refuse(bad_chunk);
        default: return refuse(malformed);
    }
}

HttpRequest HttpParser::request(std::string_view message) const {
    HttpRequest request{};
    request.method = message.substr(method_.at, method_.bytes);
    request.target = message.substr(target_.at, target_.bytes);
    const TargetParts parts = split_target(request.target);
    request.path = parts.path;
    request.query = parts.query;
    if (size_ > 0) {
        request.body = chunked() ? std::string_view(chunks_)
                                 : message.substr(header_bytes_, size_ - header_bytes_);
    }
    request.fields = &fields_;
    request.message = message.data();
    return request;
}

HttpTerms HttpParser::terms() const {
    return {.keep_alive = keep_alive(),
            .head = method() == "HEAD",
            .http_1_0 = version_ < 11,
            .may_be_long = method() == "GET"};
}

bool HttpParser::take_expectation() {
    if (header_bytes_ == 0 || version_ < 11) return false;
    return std::exchange(expects_continue_, false);
}

HttpParser::Place HttpParser::place(StringView part) const {
    return {static_cast<std::uint16_t>(part.data() - message_),
            static_cast<std::uint16_t>(part.size())};
}

// The order is Beast's. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void HttpParser::on_request_impl(Verb, StringView method, StringView target, int version,
                                 ErrorCode&) {
    method_ = place(method);
    target_ = place(target);
    version_ = version;
}

void HttpParser::on_field_impl(Field field, StringView name, StringView value, ErrorCode& error) {
    if (header_bytes_ > 0) return;  // a trailer, which nothing uses
    // Beast unfolds a folded value into a buffer of its own.
    const bool in_place = value.empty() || (value.data() >= name.data() &&
                                            value.data() < name.data() + limits_.header_bytes_max);
    if (!in_place) {
        fault_ = &folded;
    } else if (!fields_.add(message_, {std_view(name), std_view(value)})) {
        fault_ = &header_too_big;
    } else if (field == Field::host) {
        if (++host_count_ > 1) fault_ = &several_hosts;
    } else if (field == Field::transfer_encoding) {
        if (!boost::beast::iequals(value, "chunked")) fault_ = &unknown_coding;
    } else if (field == Field::expect) {
        expects_continue_ = boost::beast::iequals(value, "100-continue");
        if (!expects_continue_) fault_ = &unknown_expectation;
    }
    if (fault_) error = http::error::bad_field;
}

void HttpParser::on_chunk_header_impl(std::uint64_t size, StringView, ErrorCode& error) {
    if (sink_ != nullptr || size <= limits_.body_bytes_max - chunks_.size()) return;
    fault_ = &body_too_big;
    error = http::error::body_limit;
}

std::size_t HttpParser::on_chunk_body_impl(std::uint64_t, StringView body, ErrorCode&) {
    if (sink_ == nullptr) {
        chunks_.append(body.data(), body.size());
    } else if (!body.empty()) {
        sink_->on_piece(std_view(body));
    }
    return body.size();
}

}  // namespace holdfast::net
