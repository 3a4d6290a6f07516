#pragma once

#include "net/http/http_protocol.h"

namespace holdfast::app {

// HttpRouter: which handler a path belongs to.
//
// Thread safety: one router per loop, like the handlers behind it.
class HttpRouter final : public net::HttpHandler {
  public:
    // They outlive the router.
    struct Handlers {
        net::HttpHandler& homelab;
        net::HttpHandler& lockserver;
        net::HttpHandler& scoped;
        net::HttpHandler& status;
        net::HttpHandler& sessions;
        net::HttpHandler& backup;
    };

    explicit HttpRouter(const Handlers& handlers) : handlers_(handlers) {}

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    const Handlers handlers_;
};

}  // namespace holdfast::app
