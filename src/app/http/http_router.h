#pragma once

// HttpRouter: takes every request of the HTTP listener to its handler.
//
// It finds the route (net/http/routes.h), asks the gate who the client is, and calls the handler if
// the client has the privilege that the route needs: for everything, or, where the handler asks what
// for, for something. Otherwise the handler whose paths begin alike
// refuses the request, in the words of its protocol.
//
// Thread safety: one router per loop, like the handlers behind it.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/http/http_gate.h"
#include "net/http/http_protocol.h"
#include "net/http/routes.h"

namespace holdfast::app {

// All handlers of the HTTP listener.
struct HttpHandlers {
    net::RouteHandler& homelab;
    net::RouteHandler& lockserver;
    net::RouteHandler& scoped;
    net::RouteHandler& terraform;
    net::RouteHandler& status;
    net::RouteHandler& sessions;
    net::RouteHandler& backup;
    net::RouteHandler& history;
    net::RouteHandler& documents;
    net::RouteHandler& cluster;
};

// Every route of the HTTP listener.
[[nodiscard]] std::vector<net::RouteGroup> http_routes(const HttpHandlers& handlers);
// Every route of the listener on which a node of a cluster tells of itself.
[[nodiscard]] std::vector<net::RouteGroup> node_routes(net::RouteHandler& status,
                                                       net::RouteHandler& node);

class HttpRouter final : public net::HttpHandler {
  public:
    // The handlers, and what the gate knows of, outlive the router.
    HttpRouter(std::vector<net::RouteGroup> routes, HttpGate gate)
        : table_(std::move(routes)), counts_(table_.names()), gate_(std::move(gate)) {}

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;
    [[nodiscard]] bool wants_body(const net::HttpRequest& head, net::HttpReply& reply) override;
    [[nodiscard]] bool takes_pieces(std::string_view method,
                                    std::string_view target) const override;
    [[nodiscard]] std::unique_ptr<net::BodySink> receive(const net::HttpRequest& request,
                                                         net::HttpReply& reply,
                                                         net::BodySource& source) override;
    [[nodiscard]] net::RouteCounts* unknown_route() override { return &counts_[0]; }

    // Of all requests. May be read on any thread.
    [[nodiscard]] const net::RequestCounts& counts() const { return counts_; }

  private:
    [[nodiscard]] std::optional<HttpGate::Admission> admit(const net::RouteMatch& match,
                                                           const net::HttpRequest& request,
                                                           net::HttpReply& reply);

    [[nodiscard]] net::RoutedRequest to_routed(const net::RouteMatch& match,
                                               const net::HttpRequest& request,
                                               const HttpGate::Admission& admission);

    const net::RouteTable table_;
    net::RequestCounts counts_;
    HttpGate gate_;
    std::string by_;  // of the present request
};

}  // namespace holdfast::app
