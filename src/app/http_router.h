#pragma once

#include "net/http_protocol.h"

namespace holdfast::app {

// HttpRouter: which dialect a path belongs to.
//
// Thread safety: one router per loop, like the handlers behind it.
class HttpRouter final : public net::HttpHandler {
  public:
    // The handler outlives the router.
    explicit HttpRouter(net::HttpHandler& homelab) : homelab_(homelab) {}

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    net::HttpHandler& homelab_;
};

}  // namespace holdfast::app
