#pragma once

// ScopedHandler: leases on names, paths, inodes and byte ranges, `/v1/leases`, elections,
// `/v1/elections`, and fences, `/v1/fence`, on the common engine.
//
// The token alone proves who holds a lease, whichever door granted it.
//
// Thread safety: one handler per loop.

#include <span>
#include <string>

#include "doors/scoped/election_watches.h"
#include "doors/scoped/scoped_request.h"
#include "net/http/routes.h"
#include "service/ports/clock.h"
#include "service/ports/port.h"

namespace holdfast::doors::scoped {

class ScopedHandler final : public net::RouteHandler {
  public:
    // All outlive the handler and its connections. `elections` are those of the same loop.
    ScopedHandler(const ScopedOptions& options, service::Port& port, ElectionWatches& elections,
                  const service::Clock& clock);

    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;
    void refuse(const net::HttpRequest& request, const net::RouteRefusal& refusal,
                net::HttpReply& reply) override;

  private:
    void send_fault(const Fault& fault, net::HttpReply& reply,
                    std::string_view allowed_methods = {}, const rights::Denial* denial = nullptr);
    void find_lease(ScopedRequest request, const net::RoutedRequest& routed, net::HttpReply& reply);

    const ScopedOptions options_;
    service::Port& port_;
    ElectionWatches& elections_;
    const service::Clock& clock_;
    std::string body_;  // of the answer; reused
};

}  // namespace holdfast::doors::scoped
