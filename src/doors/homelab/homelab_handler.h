#pragma once

// HomelabHandler: the homelab lock, `/lock`, on the common engine.
//
// A job is a named lock. A client that asks again renews its lease. After expiry only this client
// may have the lock during the grace period; its name is remembered for a day, or until another
// client gets the lock.
//
// Thread safety: one handler per loop.

#include <span>
#include <string>

#include "doors/homelab/homelab_request.h"
#include "net/http/routes.h"
#include "service/ports/clock.h"
#include "service/ports/port.h"

namespace holdfast::doors::homelab {

// What the operator may choose.
struct HomelabOptions {
    core::Duration default_ttl = std::chrono::seconds{30};
    core::Duration grace = std::chrono::seconds{5};
};

class HomelabHandler final : public net::RouteHandler {
  public:
    // The port and the clock outlive the handler and its connections.
    HomelabHandler(const HomelabOptions& options, service::Port& port, const service::Clock& clock);

    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;
    void refuse(const net::HttpRequest& request, const net::RouteRefusal& refusal,
                net::HttpReply& reply) override;

  private:
    void send_denied(const std::string& job, const rights::Denial& denial, net::HttpReply& reply);
    [[nodiscard]] service::Request to_service(const HomelabRequest& request) const;

    const HomelabOptions options_;
    service::Port& port_;
    const service::Clock& clock_;
    std::string body_;  // of the answer; reused
};

}  // namespace holdfast::doors::homelab
