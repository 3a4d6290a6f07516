#pragma once

// HttpProtocol: HTTP/1.1 (and 1.0) over a channel, in front of an HttpHandler.
//
// Every whole request in the input is handled as it is found, also behind one whose answer is
// deferred, so that pipelined requests can share a commit, unless too many answers wait; a
// ReplyQueue keeps answers in order. A body taken in pieces holds up what follows it. What the
// protocol refuses itself it answers with a status, `{"error":"..."}` and a closed connection: 400
// malformed, 408 too slow (a body that is taken in pieces: on average, see BodyPace), 413 body too
// big, 414 and 431 header too big, 417 unknown expectation, 501 unknown transfer coding, 505 not
// HTTP/1.x.
//
// Thread safety: only on the connection's loop.

#include <memory>

#include "net/http/http_body.h"
#include "net/http/http_parser.h"
#include "net/http/http_reply.h"
#include "net/http/reply_queue.h"
#include "net/loop/channel.h"

namespace holdfast::net {

// What answers requests. Called on the thread of the connection's loop: a handler shared by several
// loops is called concurrently.
class HttpHandler {
  public:
    virtual void handle(const HttpRequest& request, HttpReply& reply) = 0;

    // Whether the body of a request with this method is taken in pieces. Then receive() is called
    // instead of handle(), when the header is there.
    [[nodiscard]] virtual bool takes_pieces(std::string_view /*method*/) const { return false; }

    // The request has no body yet. Returns what takes the body, having deferred the reply; or
    // nothing, having answered at once. The body is read past then if it is short; if not, the
    // connection closes.
    [[nodiscard]] virtual std::unique_ptr<BodySink> receive(const HttpRequest& /*request*/,
                                                            HttpReply& /*reply*/,
                                                            BodySource& /*source*/) {
        return nullptr;
    }

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
    // A body that is taken in pieces.
    struct Body {
        HttpParser parser;
        std::unique_ptr<BodySink> sink;
        BodyPace pace = {};
    };

    void resume() override;

    std::size_t take_request(std::string_view input);
    std::size_t finish(HttpParser& parser, HttpParser::Outcome outcome, std::string_view input);
    std::size_t begin_body(HttpParser& parser, std::string_view input);
    void invite_body();
    void pause_body();
    std::size_t take_body(std::string_view input);
    void fail_body(const HttpFault& fault);
    void await_rest(HttpParser& parser);
    void refuse(const HttpFault& fault);

    Channel& channel_;
    HttpHandler& handler_;
    const HttpLimits& limits_;
    bool peer_ended_ = false;              // so a partial request stays one
    std::unique_ptr<HttpParser> partial_;  // of a request whose rest has not arrived
    std::unique_ptr<Body> body_;           // that is being taken
    bool is_body_paused_ = false;          // its sink is congested
    ReplyQueue replies_;
};

}  // namespace holdfast::net
