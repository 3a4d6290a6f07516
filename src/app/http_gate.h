#pragma once

// HttpGate: lets those pass who know the token.
//
// While there is an auth token, a request must bear it, or the admin token: `Authorization: Bearer
// <token>`. Others are answered 401, except that everybody may ask whether the server lives and is
// ready. Whoever passes is privileged if there are no tokens at all, or with the admin token.
//
// While there is no auth token, requests for a change that a browser sends for somebody else's web
// page are refused: whoever runs a server for this machine alone does not mean those.
//
// Thread safety: one gate per loop, like the handler behind it.

#include <cstdint>
#include <memory>

#include "app/credentials.h"
#include "net/http_protocol.h"

namespace holdfast::app {

class HttpGate final : public net::HttpHandler {
  public:
    // Both outlive the gate.
    HttpGate(const TokenSource& source, net::HttpHandler& handler);

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    const TokenSource& source_;
    net::HttpHandler& handler_;
    std::uint64_t version_;  // of tokens_, or older
    std::shared_ptr<const Tokens> tokens_;
};

}  // namespace holdfast::app
