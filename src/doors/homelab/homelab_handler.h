#pragma once

// HomelabHandler: the homelab lock, `/lock`, on the common engine.
//
// A job is a named lock. A client that asks again renews; after expiry the lock is kept for it
// during the grace period, and its name is remembered for a day or until another client takes the
// lock.
//
// Thread safety: one handler per loop.

#include <string>

#include "doors/homelab/homelab_request.h"
#include "net/http/http_protocol.h"
#include "service/ports/clock.h"
#include "service/ports/port.h"

namespace holdfast::doors::homelab {

// What the operator may choose.
struct HomelabOptions {
    core::Duration default_ttl = std::chrono::seconds{30};
    core::Duration grace = std::chrono::seconds{5};
};

class HomelabHandler final : public net::HttpHandler {
  public:
    // Both outlive the handler and its connections.
    HomelabHandler(const HomelabOptions& options, service::Port& port, const service::Clock& clock);

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    [[nodiscard]] service::Request to_service(const HomelabRequest& request) const;

    const HomelabOptions options_;
    service::Port& port_;
    const service::Clock& clock_;
    std::string body_;  // reused
};

}  // namespace holdfast::doors::homelab
