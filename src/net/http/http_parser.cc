#include "net/http/http_parser.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::net {

HttpParser::HttpParser(const HttpLimits& limits, KnownFields* known)
    : limits_(limits), known_(known) {
    CHECK(limits.header_bytes_max < 65536);
}

HttpParser::Outcome HttpParser::parse(std::string_view message) {
    const auto outcome = parse_header(message);
    return outcome == Outcome::complete ? parse_body(message) : outcome;
}

HttpParser::Outcome HttpParser::parse_header(std::string_view message) {
    message_ = message.data();
    if (head_.bytes > 0) return Outcome::complete;
    if (searched_bytes_ > 0) {
        if (!may_be_complete(message)) return Outcome::need_more;
        head_ = RequestHead();
    }
    switch (read_head(message.substr(0, limits_.header_bytes_max), head_, fault_, known_)) {
        case HeadOutcome::complete: break;
        case HeadOutcome::refused: return Outcome::refused;
        case HeadOutcome::need_more:
            if (message.size() >= limits_.header_bytes_max) return refuse_long_header(message);
            searched_bytes_ = message.size();
            return Outcome::need_more;
    }
    if (limits_.needs_host && !head_.has_host && !head_.is_http_1_0) return refuse(faults::no_host);
    parsed_bytes_ = head_.bytes;
    return Outcome::complete;
}

// A header that was not complete is read again when its end has arrived, and not before: a peer that
// sends it byte by byte costs no more than another.
bool HttpParser::may_be_complete(std::string_view message) {
    constexpr std::string_view header_end = "\r\n\r\n";
    const std::size_t begin = searched_bytes_ - std::min(searched_bytes_, header_end.size() - 1);
    searched_bytes_ = message.size();
    return message.size() >= limits_.header_bytes_max ||
           message.find(header_end, begin) != message.npos;
}

HttpParser::Outcome HttpParser::refuse_long_header(std::string_view message) {
    const bool has_first_line = message.find("\r\n") != message.npos;
    return refuse(has_first_line ? faults::header_too_big : faults::target_too_long);
}

HttpParser::Outcome HttpParser::parse_body(std::string_view message) {
    if (head_.is_chunked) return parse_chunks(message);
    const std::uint64_t length = head_.content_length.value_or(0);
    if (length > limits_.body_bytes_max) return refuse(faults::body_too_big);
    size_ = head_.bytes + static_cast<std::size_t>(length);
    return message.size() < size_ ? Outcome::need_more : Outcome::complete;
}

HttpParser::Outcome HttpParser::parse_chunks(std::string_view message) {
    const ChunkedBody::Limits limits{limits_.body_bytes_max, limits_.header_bytes_max};
    for (;;) {
        std::string_view rest = message.substr(parsed_bytes_);
        const auto outcome = chunked_.read(rest, limits);
        parsed_bytes_ = message.size() - rest.size();
        if (outcome == ChunkedBody::Outcome::refused) return refuse(chunked_.fault());
        // Tiny chunks and long extensions may make a small body large.
        const std::size_t bytes = parsed_bytes_ - head_.bytes;
        if (bytes > 2 * limits_.body_bytes_max + limits_.header_bytes_max) {
            return refuse(faults::body_too_big);
        }
        if (outcome == ChunkedBody::Outcome::need_more) return Outcome::need_more;
        if (outcome == ChunkedBody::Outcome::whole) break;
        chunks_.append(chunked_.piece());
    }
    size_ = parsed_bytes_;
    return Outcome::complete;
}

// What parse() has read of a body that is not whole.
void HttpParser::forget_body() {
    chunked_ = ChunkedBody();
    chunks_ = {};
    parsed_bytes_ = head_.bytes;
    size_ = 0;
}

HttpParser::Outcome HttpParser::parse_piece(std::string_view& input, BodySink& sink,
                                            std::uint64_t body_bytes_max) {
    if (!std::exchange(is_in_pieces_, true)) forget_body();
    if (head_.is_chunked) return parse_streamed_chunks(input, sink, body_bytes_max);
    const std::uint64_t rest = head_.content_length.value_or(0) - streamed_;
    const auto piece =
        input.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(rest, input.size())));
    input.remove_prefix(piece.size());
    streamed_ += piece.size();
    if (!piece.empty()) sink.on_piece(piece);
    return piece.size() < rest ? Outcome::need_more : Outcome::complete;
}

HttpParser::Outcome HttpParser::parse_streamed_chunks(std::string_view& input, BodySink& sink,
                                                      std::uint64_t body_bytes_max) {
    const ChunkedBody::Limits limits{body_bytes_max, limits_.header_bytes_max};
    for (;;) {
        switch (chunked_.read(input, limits)) {
            case ChunkedBody::Outcome::need_more: return Outcome::need_more;
            case ChunkedBody::Outcome::piece: sink.on_piece(chunked_.piece()); break;
            case ChunkedBody::Outcome::whole: return Outcome::complete;
            case ChunkedBody::Outcome::refused: return refuse(chunked_.fault());
        }
    }
}

std::optional<std::uint64_t> HttpParser::body_size() const {
    if (head_.is_chunked) return std::nullopt;
    return head_.content_length.value_or(0);
}

HttpParser::Outcome HttpParser::refuse(const HttpFault& fault) {
    fault_ = &fault;
    return Outcome::refused;
}

HttpRequest HttpParser::request(std::string_view message) const {
    HttpRequest request{};
    request.method = head_.method.in(message.data());
    request.target = head_.target.in(message.data());
    const TargetParts parts = split_target(request.target);
    request.path = parts.path;
    request.query = parts.query;
    if (size_ > 0) {
        request.body = head_.is_chunked ? std::string_view(chunks_)
                                        : message.substr(head_.bytes, size_ - head_.bytes);
    }
    request.fields = &head_.fields;
    request.message = message.data();
    return request;
}

HttpTerms HttpParser::terms() const {
    return {.keep_alive = head_.keeps_connection(),
            .head = method() == "HEAD",
            .http_1_0 = head_.is_http_1_0,
            .may_be_long = method() == "GET"};
}

bool HttpParser::take_expectation() {
    if (head_.bytes == 0 || head_.is_http_1_0) return false;
    return std::exchange(head_.expects_continue, false);
}

}  // namespace holdfast::net
