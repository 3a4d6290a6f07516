#include "net/http/http_answer.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>

namespace holdfast::net {

namespace http = boost::beast::http;

namespace {

constexpr std::uint32_t header_bytes_max = std::uint32_t{64} * 1024;

// The least that is still to come of a chunked body between two chunks, "0 CR LF CR LF". Beast
// asserts that it is not asked to read on there with less.
constexpr std::size_t chunked_rest_bytes_min = 5;

}  // namespace

std::optional<std::string_view> HttpAnswer::header(std::string_view name) const {
    const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& one) {
        return boost::beast::iequals({one.first.data(), one.first.size()},
                                     {name.data(), name.size()});
    });
    if (found == headers.end()) return std::nullopt;
    return found->second;
}

HttpAnswerParser::HttpAnswerParser(Options options) : options_(std::move(options)) {
    eager(true);
    skip(options_.is_to_head);
    header_limit(header_bytes_max);
    body_limit(options_.body_bytes_max ? Length(*options_.body_bytes_max) : Length());
}

HttpAnswerParser::Outcome HttpAnswerParser::parse(std::string_view& input) {
    while (!is_done()) {
        const bool is_between_chunks = is_header_done() && chunked() && chunk_bytes_left_ == 0;
        if (input.size() < (is_between_chunks ? chunked_rest_bytes_min : 1)) {
            return Outcome::need_more;
        }
        ErrorCode error;
        const std::size_t taken = put({input.data(), input.size()}, error);
        input.remove_prefix(taken);
        if (error == http::error::need_more) {
            return input.size() < header_bytes_max ? Outcome::need_more : Outcome::refused;
        }
        if (error) return Outcome::refused;
        if (taken == 0) return Outcome::need_more;
    }
    return Outcome::complete;
}

bool HttpAnswerParser::end() {
    if (!is_header_done()) return false;
    ErrorCode error;
    if (!is_done()) put_eof(error);
    return !error && is_done();
}

void HttpAnswerParser::take(StringView piece) {
    if (piece.empty()) return;
    if (options_.on_body) {
        options_.on_body({piece.data(), piece.size()});
    } else {
        answer_.body.append(piece.data(), piece.size());
    }
}

void HttpAnswerParser::on_response_impl(int status, StringView, int, ErrorCode&) {
    answer_.status = status;
}

// The order is Beast's. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
void HttpAnswerParser::on_field_impl(Field, StringView name, StringView value, ErrorCode&) {
    if (is_header_done()) return;  // a trailer: nobody asks for these
    answer_.headers.emplace_back(std::string(name.data(), name.size()),
                                 std::string(value.data(), value.size()));
}

std::size_t HttpAnswerParser::on_body_impl(StringView body, ErrorCode&) {
    take(body);
    return body.size();
}

void HttpAnswerParser::on_chunk_header_impl(std::uint64_t size, StringView, ErrorCode&) {
    chunk_bytes_left_ = size;
}

std::size_t HttpAnswerParser::on_chunk_body_impl(std::uint64_t left, StringView body, ErrorCode&) {
    chunk_bytes_left_ = left - body.size();
    take(body);
    return body.size();
}

}  // namespace holdfast::net
