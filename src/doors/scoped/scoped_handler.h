#pragma once

// ScopedHandler: leases on names, paths, inodes and byte ranges, `/v1/leases`, and fences,
// `/v1/fence`, on the common engine.
//
// A lease is spoken for by its token alone, whatever door it was taken at.
//
// Thread safety: one handler per loop.

#include <string>

#include "doors/scoped/scoped_request.h"
#include "net/http/http_protocol.h"
#include "service/ports/clock.h"
#include "service/ports/port.h"

namespace holdfast::doors::scoped {

class ScopedHandler final : public net::HttpHandler {
  public:
    // Both outlive the handler and its connections.
    ScopedHandler(const ScopedOptions& options, service::Port& port, const service::Clock& clock);

    void handle(const net::HttpRequest& request, net::HttpReply& reply) override;

  private:
    const ScopedOptions options_;
    service::Port& port_;
    const service::Clock& clock_;
    std::string body_;  // reused
};

}  // namespace holdfast::doors::scoped
