#pragma once

// HttpProtocol: HTTP/1.1 (and 1.0) over a channel, in front of an HttpHandler.
//
// Every whole request in the input is handled as it is found, also behind one whose answer is
// deferred, so that pipelined requests can share a commit; a ReplyQueue keeps their answers in
// order. What the protocol must refuse itself it answers with a status, a body `{"error":"..."}`
// and a closed connection: 400 malformed, 408 too slow, 413 body too big, 414 and 431 header too
// big, 417 unknown expectation, 501 unknown transfer coding, 505 not HTTP/1.x.
//
// Thread safety: only on the connection's loop.

#include <memory>

#include "net/channel.h"
#include "net/http_parser.h"
#include "net/http_reply.h"
#include "net/reply_queue.h"

namespace holdfast::net {

// What answers requests. Called on the thread of the connection's loop: a handler shared by several
// loops is called concurrently.
class HttpHandler {
  public:
    virtual void handle(const HttpRequest& request, HttpReply& reply) = 0;

  protected:
    ~HttpHandler() = default;
};

class HttpProtocol final : public Protocol {
  public:
    // Both outlive the connection.
    HttpProtocol(Channel& channel, HttpHandler& handler, const HttpLimits& limits);

    std::size_t on_input(std::string_view input) override;
    void on_end_of_input() override;
    void on_drain() override;
    void on_read_timeout() override;
    void on_closed() override;
    bool idle() const override { return replies_.empty() && (!partial_ || peer_ended_); }

  private:
    std::size_t take_request(std::string_view input);
    std::size_t finish(HttpParser& parser, HttpParser::Outcome outcome, std::string_view input);
    void await_rest(HttpParser& parser);
    void refuse(const HttpFault& fault);

    Channel& channel_;
    HttpHandler& handler_;
    const HttpLimits& limits_;
    bool peer_ended_ = false;              // so a partial request stays one
    std::unique_ptr<HttpParser> partial_;  // of a request whose rest has not arrived
    ReplyQueue replies_;
};

}  // namespace holdfast::net
