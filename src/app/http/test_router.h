#pragma once

// TestRouter: the routes of one handler, without a gate: every client has the same privilege. For
// tests.

#include <span>

#include "net/http/http_protocol.h"
#include "net/http/routes.h"

namespace holdfast::app {

class TestRouter final : public net::HttpHandler {
  public:
    // The handler outlives the router.
    TestRouter(std::span<const net::Route> routes, net::RouteHandler& handler,
               net::Privilege privilege)
        : handler_(handler), privilege_(privilege), table_({{routes, &handler}}) {}

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override {
        const auto match = table_.find(request.method, request.path);
        if (match.route == nullptr) {
            const int status = match.allowed_methods.empty() ? 404 : 405;
            return handler_.refuse(
                request, {.status = status, .allowed_methods = match.allowed_methods}, reply);
        }
        handler_.handle({.http = request,
                         .route = *match.route,
                         .parameter = match.parameter,
                         .privilege = privilege_},
                        reply);
    }

  private:
    net::RouteHandler& handler_;
    const net::Privilege privilege_;
    const net::RouteTable table_;
};

}  // namespace holdfast::app
