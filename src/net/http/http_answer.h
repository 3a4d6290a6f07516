#pragma once

// HttpAnswer: what a server said; HttpAnswerParser: reads one, however it is cut.

#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::net {

struct HttpAnswer {
    int status = 0;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
    // The request was sent before, and broke the connection: it may have had its effect then.
    bool is_repeated = false;

    // The value of the first header called `name`, in whatever case.
    [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

class HttpAnswerParser final : private boost::beast::http::basic_parser<false> {
  public:
    enum class Outcome { need_more, complete, refused };

    struct Options {
        bool is_to_head = false;  // such an answer has no body, whatever its header says
        std::optional<std::uint64_t> body_bytes_max;
        // Gets the pieces of the body; without it, they are gathered in the answer.
        std::function<void(std::string_view)> on_body;
    };

    explicit HttpAnswerParser(Options options);

    // Reads on from `input`, and takes off it what was understood; what remains is offered again,
    // with more behind it. Not to be called again once it has returned something else than
    // need_more.
    [[nodiscard]] Outcome parse(std::string_view& input);

    // The connection has ended. Whether the answer was whole.
    [[nodiscard]] bool end();

    // Whether the answer's status and headers are there.
    [[nodiscard]] bool has_header() const { return is_header_done(); }
    [[nodiscard]] HttpAnswer& answer() { return answer_; }
    // After `complete`: whether the connection can be used again.
    [[nodiscard]] bool keeps_connection() const { return keep_alive(); }

  private:
    using Verb = boost::beast::http::verb;
    using Field = boost::beast::http::field;
    using StringView = boost::beast::string_view;
    using ErrorCode = boost::beast::error_code;
    using Length = boost::optional<std::uint64_t>;

    void take(StringView piece);

    void on_request_impl(Verb, StringView, StringView, int, ErrorCode&) override {}
    void on_response_impl(int status, StringView, int, ErrorCode&) override;
    void on_field_impl(Field, StringView, StringView, ErrorCode&) override;
    void on_header_impl(ErrorCode&) override {}
    void on_body_init_impl(const Length&, ErrorCode&) override {}
    std::size_t on_body_impl(StringView body, ErrorCode&) override;
    void on_chunk_header_impl(std::uint64_t size, StringView, ErrorCode&) override;
    std::size_t on_chunk_body_impl(std::uint64_t left, StringView body, ErrorCode&) override;
    void on_finish_impl(ErrorCode&) override {}

    const Options options_;
    HttpAnswer answer_;
    std::uint64_t chunk_bytes_left_ = 0;
};

}  // namespace holdfast::net
