#pragma once

// BeastRequest: a request as Boost.Beast understands it; compare_with_beast(): whether HttpParser
// understands it alike. For tests only: Beast has read the requests of many strangers for many years.

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http/http_parser.h"
#include "net/syntax/characters.h"
#include "net/syntax/field_line.h"

namespace holdfast::net {

class BeastRequest final : private boost::beast::http::basic_parser<true> {
  public:
    // Reads the request at the front of `message`.
    explicit BeastRequest(std::string_view message) {
        eager(true);
        header_limit(65535);
        body_limit(boost::none);
        ErrorCode error;
        // Beast asserts that it is not asked to read on with less than the end of a chunked body.
        while (!is_done() && !error && message.size() - size >= (is_header_done() ? 5 : 1)) {
            size += put({message.data() + size, message.size() - size}, error);
        }
        is_whole = is_done() && !error;
        keeps_connection = is_whole && keep_alive();
    }

    bool is_whole = false;
    std::size_t size = 0;
    std::string method, target, body;
    int version = 0;
    std::vector<std::pair<std::string, std::string>> fields, trailer;
    std::string extensions;  // of all chunks
    bool keeps_connection = false;

  private:
    using Verb = boost::beast::http::verb;
    using Field = boost::beast::http::field;
    using StringView = boost::beast::string_view;
    using ErrorCode = boost::beast::error_code;
    using Length = boost::optional<std::uint64_t>;

    static std::string copy(StringView text) { return {text.data(), text.size()}; }

    // The order is Beast's. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
    void on_request_impl(Verb, StringView its_method, StringView its_target, int its_version,
                         ErrorCode&) override {
        method = copy(its_method);
        target = copy(its_target);
        version = its_version;
    }
    void on_response_impl(int, StringView, int, ErrorCode&) override {}
    void on_field_impl(Field, StringView name, StringView value, ErrorCode&) override {
        (is_in_body_ ? trailer : fields).emplace_back(copy(name), copy(value));
    }
    void on_header_impl(ErrorCode&) override { is_in_body_ = true; }
    void on_body_init_impl(const Length&, ErrorCode&) override {}
    std::size_t on_body_impl(StringView piece, ErrorCode&) override {
        body += copy(piece);
        return piece.size();
    }
    void on_chunk_header_impl(std::uint64_t, StringView its_extensions, ErrorCode&) override {
        extensions += copy(its_extensions);
    }
    std::size_t on_chunk_body_impl(std::uint64_t, StringView piece, ErrorCode&) override {
        body += copy(piece);
        return piece.size();
    }
    void on_finish_impl(ErrorCode&) override {}

    bool is_in_body_ = false;
};

namespace detail {

// Whether Beast accepts the request although HttpParser is meant to refuse it, with this fault.
inline bool is_stricter_on_purpose(const HttpFault& fault, const BeastRequest& beast,
                                   std::string_view message) {
    if (&fault == &faults::bad_length) {
        std::size_t lengths = 0;
        bool is_list = false;
        for (const auto& [name, value] : beast.fields) {
            if (framing_field(name) != FramingField::content_length) continue;
            ++lengths;
            is_list |= value.find(',') != value.npos;
        }
        return lengths > 1 || is_list;
    }
    if (&fault == &faults::bad_chunk) {
        if (value_size(beast.extensions) != beast.extensions.size()) return true;
        for (const auto& one : beast.trailer) {
            if (framing_field(one.first) != FramingField::none) return true;
        }
        const std::string_view read = message.substr(0, beast.size);
        return !beast.trailer.empty() && (read.find("\r\n ") != read.npos ||  // folded
                                          read.find("\r\n\t") != read.npos);
    }
    return &fault != &faults::malformed && &fault != &faults::not_http_1;
}

inline bool are_fields_equal(const BeastRequest& beast, const HttpRequest& ours) {
    for (const auto& [name, value] : beast.fields) {
        const auto first =
            std::find_if(beast.fields.begin(), beast.fields.end(), [&name = name](const auto& one) {
                return boost::beast::iequals({one.first.data(), one.first.size()},
                                             {name.data(), name.size()});
            });
        if (ours.header(name) != first->second) return false;
    }
    return true;
}

}  // namespace detail

// What HttpParser understands differently in the request at the front of `message`; nothing if it
// understands the same, or refuses on purpose what Beast accepts. REQUIRES: the message is smaller
// than the limits.
inline std::optional<std::string> compare_with_beast(std::string_view message,
                                                     const HttpLimits& limits) {
    const BeastRequest beast(message);
    HttpParser parser(limits);
    const auto outcome = parser.parse(message);
    if (outcome == HttpParser::Outcome::need_more) {
        if (beast.is_whole) return "only Beast found its end";
        return std::nullopt;
    }
    if (outcome == HttpParser::Outcome::refused) {
        if (!beast.is_whole) return std::nullopt;
        if (detail::is_stricter_on_purpose(parser.fault(), beast, message)) return std::nullopt;
        return "only Beast accepts it: " + std::string(parser.fault().json);
    }
    if (!beast.is_whole) return "Beast does not accept it";
    const HttpRequest ours = parser.request(message);
    const HttpTerms terms = parser.terms();
    if (parser.size() != beast.size) return "the sizes differ";
    if (ours.method != beast.method || ours.target != beast.target) return "the lines differ";
    if (terms.http_1_0 != (beast.version == 10)) return "the versions differ";
    if (ours.body != beast.body) return "the bodies differ";
    if (!detail::are_fields_equal(beast, ours)) return "the fields differ";
    // Beast overlooks a `close` beside a `keep-alive` in HTTP/1.0.
    const bool may_differ = terms.http_1_0 && !terms.keep_alive;
    if (terms.keep_alive != beast.keeps_connection && !may_differ) return "the terms differ";
    return std::nullopt;
}

}  // namespace holdfast::net
