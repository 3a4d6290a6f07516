#pragma once

// HttpParser: reads one HTTP/1.x request, in however many pieces it arrives.
//
// Beast's basic_parser finds and checks the parts of a request; this class remembers where they
// are. It copies nothing, except the body of a chunked request: the caller stores the bytes of the
// request together and offers all of them, from the first one, each time more have arrived. Only a
// body in pieces (http_body.h) need not be stored.
//
// A parser lives on the stack when a request arrives whole, and moves to the heap when it does not.

#include <boost/beast/http/basic_parser.hpp>
#include <string>
#include <string_view>

#include "net/http/http_body.h"
#include "net/http/http_message.h"

namespace holdfast::net {

struct HttpLimits {
    std::size_t header_bytes_max = std::size_t{16} * 1024;
    std::size_t body_bytes_max = std::size_t{1024} * 1024;
    // For a body in pieces, which may have any size.
    BodyPaceLimits body_pace;
    // Requests of one connection that are handled but not yet answered. Further ones are not read.
    std::size_t pending_max = 128;
    // Bytes of answers that wait on one connection for the answers before them. With more than
    // this, no further request is read, and a streamed answer that waits is congested.
    std::size_t waiting_bytes_max = std::size_t{256} * 1024;
    // Whether a request of HTTP/1.1 without a Host is refused, as the standard demands.
    bool needs_host = false;
    // How many bytes a GET counts as, while it waits for its turn and its answer is not known.
    std::size_t unknown_answer_bytes = std::size_t{64} * 1024;
};

class HttpParser final : private boost::beast::http::basic_parser<true> {
  public:
    enum class Outcome { need_more, complete, refused };

    // REQUIRES: header_bytes_max < 64 KiB.
    explicit HttpParser(const HttpLimits& limits);
    HttpParser(HttpParser&&) = default;

    // Reads up to the end of the header. `message` begins with the first byte of the request.
    // REQUIRES: the request was not refused.
    [[nodiscard]] Outcome parse_header(std::string_view message);

    // Reads up to the end of the body. REQUIRES: the last call, if any, returned need_more.
    [[nodiscard]] Outcome parse(std::string_view message);

    // Instead of parse(): reads from `input`, which begins where the header, or the last call,
    // ended. Gives the sink the part of the body that is there, and removes it from the input. The
    // body may have any size. REQUIRES: the header is complete.
    [[nodiscard]] Outcome parse_piece(std::string_view& input, BodySink& sink);

    // After `complete`: the sizes of the header and of the request, the request (without a body
    // while that is not complete), and what it asks of its answer.
    [[nodiscard]] std::size_t header_size() const { return header_bytes_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] HttpRequest request(std::string_view message) const;
    [[nodiscard]] HttpTerms terms() const;
    // The size of the body, if the header tells it; 0 if there is no body.
    [[nodiscard]] std::optional<std::uint64_t> body_size() const;

    [[nodiscard]] std::string_view method() const { return {message_ + method_.at, method_.bytes}; }
    [[nodiscard]] std::string_view target() const { return {message_ + target_.at, target_.bytes}; }

    // After `refused`.
    [[nodiscard]] const HttpFault& fault() const { return *fault_; }

    // Whether the client waits for `100 Continue` before it sends the body. take_expectation() is
    // true only once.
    [[nodiscard]] bool has_expectation() const { return expects_continue_ && version_ >= 11; }
    [[nodiscard]] bool take_expectation();

  private:
    using Verb = boost::beast::http::verb;
    using Field = boost::beast::http::field;
    using StringView = boost::beast::string_view;
    using ErrorCode = boost::beast::error_code;
    using Length = boost::optional<std::uint64_t>;

    struct Place {
        std::uint16_t at = 0, bytes = 0;
    };

    Outcome parse_body(std::string_view message);
    Outcome parse_chunks(std::string_view message);
    Outcome parse_streamed_chunks(std::string_view& input);
    Outcome refuse(const HttpFault& fault);
    Outcome refuse(const ErrorCode& error, std::string_view message);
    Place place(StringView part) const;

    void on_request_impl(Verb, StringView, StringView, int, ErrorCode&) override;
    void on_response_impl(int, StringView, int, ErrorCode&) override {}
    void on_field_impl(Field, StringView, StringView, ErrorCode&) override;
    void on_header_impl(ErrorCode&) override {}
    void on_body_init_impl(const Length&, ErrorCode&) override {}
    std::size_t on_body_impl(StringView body, ErrorCode&) override { return body.size(); }
    void on_chunk_header_impl(std::uint64_t size, StringView, ErrorCode&) override;
    std::size_t on_chunk_body_impl(std::uint64_t, StringView, ErrorCode&) override;
    void on_finish_impl(ErrorCode&) override {}

    HttpLimits limits_;
    const char* message_ = nullptr;  // where the message was at the last call
    std::size_t parsed_ = 0;         // bytes of the message that Beast has read
    std::size_t header_bytes_ = 0;
    std::size_t size_ = 0;
    const HttpFault* fault_ = nullptr;
    Place method_, target_;
    int version_ = 11;
    bool expects_continue_ = false;
    std::size_t host_count_ = 0;
    HttpFields fields_;
    std::string chunks_;          // the body of a chunked request,
    BodySink* sink_ = nullptr;    // or where that goes, during parse_piece()
    std::uint64_t streamed_ = 0;  // bytes of the body that went there
};

}  // namespace holdfast::net
