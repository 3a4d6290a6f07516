#pragma once

#include "net/http_protocol.h"

namespace holdfast::app {

// HttpRouter: which handler a path belongs to.
//
// Thread safety: one router per loop, like the handlers behind it.
class HttpRouter final : public net::HttpHandler {
  public:
    // The handlers outlive the router.
    HttpRouter(net::HttpHandler& homelab, net::HttpHandler& lockserver)
        : homelab_(homelab), lockserver_(lockserver) {}

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    net::HttpHandler& homelab_;
    net::HttpHandler& lockserver_;
};

}  // namespace holdfast::app
