#pragma once

// Arrival: a connection that a server has accepted, and that something else may take away. Divert: the
// hook that decides this.
//
// Nothing has been read from the connection, and it is not encrypted yet. The server counts it among
// its connections as long as the Arrival lives, even after take_transport(): so a relay keeps the
// Arrival until it is done with the connection.
//
// Thread safety: only on loop()'s thread.
// Lifetime: destroyed before its server.

#include <functional>

#include "net/loop/event_loop.h"
#include "net/sockets/transport.h"

namespace holdfast::net {

class ConnectionSet;

class Arrival {
  public:
    Arrival(ConnectionSet& set, Transport transport);
    Arrival(Arrival&& other) noexcept;
    Arrival& operator=(Arrival&&) = delete;
    ~Arrival();

    // The loop that the connection was given to.
    [[nodiscard]] EventLoop& loop() const;
    [[nodiscard]] const Transport& transport() const { return transport_; }
    // REQUIRES: called once, and serve() is not called.
    [[nodiscard]] Transport take_transport() { return std::move(transport_); }

    // The server that has accepted the connection serves it, as if nobody had asked.
    void serve() &&;

  private:
    ConnectionSet* set_;  // null: moved away
    Transport transport_;
};

// Returns true if it has moved the arrival away; otherwise the server serves the connection.
using Divert = std::function<bool(Arrival&)>;

}  // namespace holdfast::net
