#pragma once

// LineConnection: sends requests of several lines and reads answers of one, over TCP.
//
// Connects when it is first used, and again after a failure. Every wait ends after ten seconds with
// an error.
//
// Thread safety: none. Lifetime: owns its socket.

#include <string>
#include <utility>

#include "base/result.h"
#include "net/loop/endpoint.h"

namespace holdfast::load {

class LineConnection {
  public:
    // Connects to nobody yet; `address` is an IP address, or localhost, and a port.
    [[nodiscard]] static base::Result<LineConnection> open(const std::string& address);

    LineConnection(LineConnection&& other) noexcept
        : server_(std::move(other.server_)),
          descriptor_(std::exchange(other.descriptor_, -1)),
          unread_(std::move(other.unread_)) {}
    LineConnection& operator=(LineConnection&&) = delete;
    ~LineConnection() { close(); }

    [[nodiscard]] bool is_connected() const { return descriptor_ >= 0; }
    [[nodiscard]] base::Result<void> connect();
    // The answer without its end of line. After an error there is no connection.
    // REQUIRES: is_connected().
    [[nodiscard]] base::Result<std::string> exchange(const std::string& request);
    void close();

  private:
    explicit LineConnection(const net::Endpoint& server) : server_(server) {}

    base::Result<std::string> try_exchange(const std::string& request);

    net::Endpoint server_;
    int descriptor_ = -1;
    std::string unread_;
};

}  // namespace holdfast::load
