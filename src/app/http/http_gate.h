#pragma once

// HttpGate: decides who a client of the HTTP listener is, and whether it may pass at all.
//
// Where clients must show a token, a request must bear one: `Authorization: Bearer <token>`, or, for
// clients that know nothing else, `Basic` with the token as the password and any user. Browsers
// remember a password and send it by themselves, so a request with one is refused if a page of
// somebody else asks for a change, as below. Other requests are answered 401, except for routes that
// need no privilege. On a server that has no tokens at all, everybody administers.
//
// Where no token is needed, the gate refuses web pages that somebody has open in a browser
// which reaches the server. A request that calls the server by a name that is not its own is
// answered 421 (host_names.h says why). A request that a browser sends for another page is answered
// 403 if it asks for a change, or for a route that needs an administrator.
//
// Thread safety: one gate per loop, like the router that uses it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/credentials.h"
#include "app/http/host_names.h"
#include "net/http/routes.h"

namespace holdfast::app {

class HttpGate {
  public:
    // Both outlive the gate.
    HttpGate(const TokenSource& source, const HostNames& names);

    struct Admission {
        net::Privilege privilege = net::Privilege::none;  // for everything
        const rights::Token* client = nullptr;  // null: it has no limits but its privilege
    };
    // The client that sent this request; nullopt: the request has been answered, with a refusal.
    // `route` is null for a request that has none. The client is good until the next call.
    [[nodiscard]] std::optional<Admission> admit(const net::HttpRequest& request,
                                                 const net::Route* route, net::HttpReply& reply);

  private:
    [[nodiscard]] const rights::Token* find(std::string_view shown);
    [[nodiscard]] bool refuses_stranger(const net::HttpRequest& request, const net::Route* route,
                                        net::HttpReply& reply);
    [[nodiscard]] bool is_own_name(std::string_view authority);

    const TokenSource& source_;
    const HostNames& names_;
    std::string last_name_;  // one of our own: most requests use the name of the one before
    std::uint64_t version_;  // of tokens_, or older
    std::shared_ptr<const rights::TokenTable> tokens_;
    // Most requests show the secret of the one before, which then need not be hashed again.
    std::string last_secret_;  // of last_client_
    rights::TokenPtr last_client_;
};

}  // namespace holdfast::app
