#pragma once

// HttpProtocol: HTTP/1.1 (and 1.0) over a channel, in front of an HttpHandler.
//
// Every whole request in the input is handled as it is found, also if the answer to an earlier one
// is deferred, so that pipelined requests can share a commit. Only if too many answers wait, no
// further request is read. A ReplyQueue puts the answers in order. Requests behind a body in pieces
// wait until that body is whole.
//
// A body that did not arrive together with its header is gathered, but only if the handler wants it: a
// client that is refused, and a request whose body means nothing, cost no memory. The gathered bodies
// of all connections have a budget (BodyBudget).
//
// The protocol itself refuses some requests, with a status,
// `{"error":"..."}` and the end of the connection:
//
//     400   malformed
//     408   too slow (for a body in pieces: on average, see BodyPace)
//     413   the body is too big
//     414   the first line is too big
//     417   unknown expectation
//     431   the header is too big
//     501   unknown transfer coding
//     503   the budget for gathered bodies is used up
//     505   not HTTP/1.x
//
// Thread safety: only on the connection's loop.

#include <memory>

#include "net/http/http_body.h"
#include "net/http/http_parser.h"
#include "net/http/http_reply.h"
#include "net/http/reply_queue.h"
#include "net/loop/channel.h"

namespace holdfast::net {

// Answers requests. Called on the thread of the connection's loop: a handler that several loops
// share is called concurrently.
class HttpHandler {
  public:
    virtual void handle(const HttpRequest& request, HttpReply& reply) = 0;

    // The header of a request has arrived, and its body has not; the request in hand has none. Returns
    // whether the body is wanted: then handle() is called when the body is whole. Otherwise this call
    // answers the request; a short body is then skipped, and a longer one makes the connection close.
    // Not called for bodies that come in pieces.
    [[nodiscard]] virtual bool wants_body(const HttpRequest& /*head*/, HttpReply& reply) {
        reply.pass();
        return true;
    }

    // Whether the body of a request with this method and target comes in pieces. Then receive() is
    // called instead of handle(), as soon as the header is complete.
    [[nodiscard]] virtual bool takes_pieces(std::string_view /*method*/,
                                            std::string_view /*target*/) const {
        return false;
    }

    // The request has no body yet. Either defers the reply and returns the sink of the body; or
    // answers at once and returns null. Then a short body is skipped, and a longer one makes the
    // connection close.
    [[nodiscard]] virtual std::unique_ptr<BodySink> receive(const HttpRequest& /*request*/,
                                                            HttpReply& /*reply*/,
                                                            BodySource& /*source*/) {
        return nullptr;
    }

    // Where requests are counted that the handler does not count elsewhere, and those that the protocol
    // refuses by itself; null: nowhere. Asked once for each connection, which the counts outlive.
    [[nodiscard]] virtual RouteCounts* unknown_route() { return nullptr; }

  protected:
    ~HttpHandler() = default;
};

class HttpProtocol final : public Protocol, private BodySource {
  public:
    // Both outlive the connection.
    HttpProtocol(Channel& channel, HttpHandler& handler, const HttpLimits& limits);

    std::size_t on_input(std::string_view input) override;
    void on_end_of_input() override;
    void on_end_of_data() override;
    bool on_output_sent() override { return replies_.make_use_of_room(); }
    bool awaits_input() const override { return body_ && !is_body_paused_; }
    void on_drain() override;
    void on_read_timeout() override;
    void on_closed() override;
    bool idle() const override { return replies_.empty() && !body_ && (!partial_ || peer_ended_); }

  private:
    class Gatherer;

    // A body that has not ended.
    struct Body {
        HttpParser parser;
        std::unique_ptr<BodySink> sink;
        Gatherer* gatherer = nullptr;  // the sink, if the body is gathered
        BodyPace pace = {};
    };

    void resume() override;

    std::size_t take_request(std::string_view input);
    std::size_t finish(HttpParser& parser, HttpParser::Outcome outcome, std::string_view input);
    std::size_t begin_body(HttpParser& parser, std::string_view input);
    std::size_t begin_rest(HttpParser& parser, std::string_view input);
    [[nodiscard]] bool is_too_slow(const Body& body) const;
    void end_body(bool is_last);
    void invite_body();
    void pause_body();
    std::size_t take_body(std::string_view input);
    void fail_body(const HttpFault& fault);
    void refuse(const HttpFault& fault);
    [[nodiscard]] HttpRequest request_of(const HttpParser& parser, std::string_view input) const;
    [[nodiscard]] HttpTerms terms_of(const HttpParser& parser) const;

    Channel& channel_;
    HttpHandler& handler_;
    RouteCounts* const unknown_route_;
    const HttpLimits& limits_;
    KnownFields known_fields_;
    const ClientHost client_;
    bool peer_ended_ = false;              // a partial request will never be whole
    std::unique_ptr<HttpParser> partial_;  // the parser of a request whose rest has not arrived
    std::unique_ptr<Body> body_;           // null: no body is under way
    bool is_body_paused_ = false;          // its sink is congested
    ReplyQueue replies_;
};

}  // namespace holdfast::net
