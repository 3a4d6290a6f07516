#pragma once

// HttpGate: lets those pass who know the token.
//
// While there is an auth token, a request must bear it, or the admin token: `Authorization: Bearer
// <token>`. Others are answered 401, except that everybody may ask whether the server lives and is
// ready. Whoever passes is privileged if there are no tokens at all, or with the admin token.
//
// While there is no auth token, the gate keeps web pages out that somebody has open in a browser
// which reaches the server. A request that calls the server by a name that is not its own is
// answered 421 (host_names.h says why). A request for a change, or for a backup, that a browser
// sends for another page is answered 403.
//
// Thread safety: one gate per loop, like the handler behind it.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "app/credentials.h"
#include "app/http/host_names.h"
#include "net/http/http_protocol.h"

namespace holdfast::app {

class HttpGate final : public net::HttpHandler {
  public:
    // All outlive the gate.
    HttpGate(const TokenSource& source, const HostNames& names, net::HttpHandler& handler);

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    [[nodiscard]] bool is_own_name(std::string_view authority);

    const TokenSource& source_;
    const HostNames& names_;
    net::HttpHandler& handler_;
    std::string last_name_;  // one of ours: most requests use the name of the one before
    std::uint64_t version_;  // of tokens_, or older
    std::shared_ptr<const Tokens> tokens_;
};

}  // namespace holdfast::app
