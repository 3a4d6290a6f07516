#pragma once

// Connections that this process begins, inside an event loop.

#include "base/result.h"
#include "net/loop/endpoint.h"
#include "net/loop/transport.h"

namespace holdfast::net {

// Begins to connect and does not wait. The transport can be given to a ConnectionSet at once: bytes
// are sent when the connection is there, and the connection fails if it cannot be made. The caller
// limits the time.
[[nodiscard]] base::Result<Transport> begin_connect(const Endpoint& endpoint);

}  // namespace holdfast::net
