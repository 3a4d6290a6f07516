#pragma once

// Origins: which web pages may talk to the file door from a browser.
//
// A browser tells the origin of the page that makes a request (`Origin: https://drive.example.org`)
// and shows a page the answers only if the server names that origin in its answer (CORS). The pages
// that may:
//
// - those of the origins that the operator has named;
// - the dashboard of this server: a page of the same host at the port of the dashboard's listener;
// - pages of the file door itself.
//
// A browser also sends its cookies with requests that a foreign page makes without wanting to see
// the answer: a picture is enough. So a request that a cookie logs in, and that changes something,
// must come from one of these pages: see may_change_by_cookie().
//
// Thread safety: const functions may be called from any thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http/http_message.h"
#include "net/http/http_reply.h"
#include "net/sockets/endpoint.h"

namespace holdfast::doors::hengdang {

// Where a request comes from.
enum class OriginKind : std::uint8_t {
    unknown,    // it does not say
    own,        // a page of this door
    dashboard,  // of this server
    named,      // by the operator
    foreign,    // any other page
};

class Origins {
  public:
    // As read_origin() returns them.
    explicit Origins(std::vector<std::string> named);

    // Pages of the dashboard, which listens there, may talk to the door. REQUIRES: no request has
    // come yet.
    void allow_dashboard(const net::Endpoint& endpoint, bool has_tls);

    [[nodiscard]] bool has_named() const { return !named_.empty(); }
    [[nodiscard]] OriginKind find(const net::HttpRequest& request) const;

    // The header lines that tell a browser whether the page may see the answer to the request; null
    // if there are none.
    [[nodiscard]] std::shared_ptr<const std::string> headers_for(
        const net::HttpRequest& request) const;

    // Whether the request asks if a page may send another request, before a browser sends that one.
    [[nodiscard]] static bool is_preflight(const net::HttpRequest& request);
    // REQUIRES: is_preflight(request).
    void answer_preflight(const net::HttpRequest& request, net::HttpReply& reply) const;

    // Whether a request that only a cookie logs in may change something. A request that tells
    // nothing about its page may only if no origin was named: the cookie is then one that browsers
    // do not send for other sites.
    [[nodiscard]] bool may_change_by_cookie(const net::HttpRequest& request) const;

  private:
    const std::vector<std::string> named_;
    std::string dashboard_scheme_, dashboard_port_;  // empty: there is no dashboard
    std::shared_ptr<const std::string> vary_;  // for answers that no page of another origin may see
};

// An origin that an operator has written: `https://drive.example.org`, perhaps with a port. Returns
// it as browsers spell it; an error names the fault.
[[nodiscard]] base::Result<std::string> read_origin(std::string_view text);

}  // namespace holdfast::doors::hengdang
