#pragma once

// LockserverHandler: LockServer's `/v1/locks` on the common engine, and what we add to it.
//
// A lock is a named lock, or with a limit above one a semaphore. Acquire is not re-entrant; renew
// and release need owner, lease id and fencing token together, and what another door granted is out
// of their reach.
//
// Thread safety: one handler per loop.

#include <string>

#include "doors/lockserver/event_streams.h"
#include "doors/lockserver/lockserver_request.h"
#include "net/http/http_protocol.h"
#include "service/ports/clock.h"
#include "service/ports/port.h"

namespace holdfast::doors::lockserver {

class LockserverHandler final : public net::HttpHandler {
  public:
    // All outlive the handler and its connections. The streams are of the same loop.
    LockserverHandler(service::Port& port, EventStreams& streams, const service::Clock& clock);

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    service::Port& port_;
    EventStreams& streams_;
    const service::Clock& clock_;
    std::string body_;  // reused
};

}  // namespace holdfast::doors::lockserver
