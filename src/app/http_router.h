#pragma once

#include "net/http_protocol.h"

namespace holdfast::app {

// HttpRouter: which handler a path belongs to.
//
// Thread safety: one router per loop, like the handlers behind it.
class HttpRouter final : public net::HttpHandler {
  public:
    // The handlers outlive the router.
    HttpRouter(net::HttpHandler& homelab, net::HttpHandler& lockserver, net::HttpHandler& status)
        : homelab_(homelab), lockserver_(lockserver), status_(status) {}

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    net::HttpHandler& homelab_;
    net::HttpHandler& lockserver_;
    net::HttpHandler& status_;
};

}  // namespace holdfast::app
