#pragma once

// LockserverHandler: LockServer's `/v1/locks` on the common engine, and what we add to it.
//
// A lock is a named lock, or a semaphore if its limit is above one. Acquire is not re-entrant.
// Renew and release need owner, lease id and fencing token together; they do not reach leases that
// another door granted.
//
// Thread safety: one handler per loop.

#include <span>
#include <string>

#include "doors/lockserver/event_streams.h"
#include "doors/lockserver/lockserver_request.h"
#include "net/http/routes.h"
#include "service/ports/clock.h"
#include "service/ports/port.h"

namespace holdfast::doors::lockserver {

class LockserverHandler final : public net::RouteHandler {
  public:
    // All outlive the handler and its connections. The streams are those of the same loop.
    LockserverHandler(service::Port& port, EventStreams& streams, const service::Clock& clock);

    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;
    void refuse(const net::HttpRequest& request, const net::RouteRefusal& refusal,
                net::HttpReply& reply) override;

  private:
    void end_by_force(const ForceRelease& request, const net::RoutedRequest& routed,
                      net::HttpReply& reply);
    void send_fault(const Fault& fault, net::HttpReply& reply,
                    std::string_view allowed_methods = {}, const rights::Denial* denial = nullptr);

    service::Port& port_;
    EventStreams& streams_;
    const service::Clock& clock_;
    std::string body_;  // of the answer; reused
};

}  // namespace holdfast::doors::lockserver
