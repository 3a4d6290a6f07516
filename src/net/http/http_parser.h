#pragma once

// HttpParser: reads one HTTP/1.x request, in however many pieces it arrives.
//
// read_head() and ChunkedBody know the syntax; this class remembers how far they came. It copies
// nothing, except the body of a chunked request that arrived whole. The caller stores the bytes of the
// header together and offers all of them, from the first one, each time more have arrived. A body
// that did not arrive together with its header is read in pieces (http_body.h).
//
// A parser lives on the stack when a request arrives whole, and moves to the heap when it does not.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/http/http_body.h"
#include "net/http/http_message.h"
#include "net/syntax/chunked_body.h"
#include "net/syntax/known_fields.h"
#include "net/syntax/request_head.h"

namespace holdfast::net {

struct HttpLimits {
    std::size_t header_bytes_max = std::size_t{16} * 1024;
    std::size_t body_bytes_max = std::size_t{1024} * 1024;
    // For a body in pieces, which may have any size. A body that is gathered has to be whole when the
    // grace is over.
    BodyPaceLimits body_pace;
    // Of bodies that are gathered, with their headers, on all connections of a listener, which the
    // budget outlives; null: no limit.
    BodyBudget* bodies = nullptr;
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

class HttpParser {
  public:
    enum class Outcome { need_more, complete, refused };

    // The limits and what is known of the connection outlive the parser. `known` may be null.
    // REQUIRES: header_bytes_max < 64 KiB.
    explicit HttpParser(const HttpLimits& limits, KnownFields* known = nullptr);

    // Reads up to the end of the header. `message` begins with the first byte of the request.
    // REQUIRES: the request was not refused.
    [[nodiscard]] Outcome parse_header(std::string_view message);

    // Reads up to the end of the body. REQUIRES: the last call, if any, returned need_more.
    [[nodiscard]] Outcome parse(std::string_view message);

    // The header is stored there from now on. REQUIRES: it is complete.
    void move_header_to(std::string_view header) { message_ = header.data(); }

    // Instead of parse(), or after it has returned need_more: reads from `input`, which begins where the
    // header, or the last call, ended. Gives the sink the part of the body that is there, and removes
    // it from the input. REQUIRES: the header is complete.
    [[nodiscard]] Outcome parse_piece(std::string_view& input, BodySink& sink,
                                      std::uint64_t body_bytes_max = UINT64_MAX);

    // After `complete`: the sizes of the header and of the request, the request (without a body
    // while that is not complete), and what it asks of its answer.
    [[nodiscard]] std::size_t header_size() const { return head_.bytes; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] HttpRequest request(std::string_view message) const;
    [[nodiscard]] HttpTerms terms() const;
    // The size of the body, if the header tells it; 0 if there is no body.
    [[nodiscard]] std::optional<std::uint64_t> body_size() const;

    [[nodiscard]] std::string_view method() const { return head_.method.in(message_); }
    [[nodiscard]] std::string_view target() const { return head_.target.in(message_); }

    // After `refused`.
    [[nodiscard]] const HttpFault& fault() const { return *fault_; }

    // Whether the client waits for `100 Continue` before it sends the body. take_expectation() is
    // true only once.
    [[nodiscard]] bool has_expectation() const {
        return head_.expects_continue && !head_.is_http_1_0;
    }
    [[nodiscard]] bool take_expectation();

  private:
    [[nodiscard]] bool may_be_complete(std::string_view message);
    Outcome refuse_long_header(std::string_view message);
    Outcome parse_body(std::string_view message);
    Outcome parse_chunks(std::string_view message);
    Outcome parse_streamed_chunks(std::string_view& input, BodySink& sink,
                                  std::uint64_t body_bytes_max);
    void forget_body();
    Outcome refuse(const HttpFault& fault);

    const HttpLimits& limits_;
    KnownFields* known_;
    const char* message_ = nullptr;   // where the message was at the last call
    std::size_t searched_bytes_ = 0;  // of the message: the header does not end there
    std::size_t size_ = 0;
    const HttpFault* fault_ = nullptr;
    RequestHead head_;
    ChunkedBody chunked_;
    std::size_t parsed_bytes_ = 0;  // of a chunked message
    std::string chunks_;            // the body in it
    std::uint64_t streamed_ = 0;    // bytes of a body in pieces
    bool is_in_pieces_ = false;     // parse_piece() was called
};

}  // namespace holdfast::net
