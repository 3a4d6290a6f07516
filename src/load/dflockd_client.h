#pragma once

// The client of dflockd's protocol, and the connection that it uses.

#include <string>
#include <utility>

#include "base/result.h"
#include "load/lock_client.h"
#include "net/sockets/endpoint.h"

namespace holdfast::load {

// LineConnection: sends requests of several lines and reads answers of one line, over TCP or a Unix
// socket. Every wait ends after ten seconds with an error.
//
// Thread safety: none. Lifetime: owns its socket.
class LineConnection {
  public:
    // Does not connect yet. `address` is an IP address or localhost with a port, or
    // `unix:/run/holdfast.sock`.
    [[nodiscard]] static base::Result<LineConnection> open(const std::string& address);

    LineConnection(LineConnection&& other) noexcept
        : server_(std::move(other.server_)),
          descriptor_(std::exchange(other.descriptor_, -1)),
          unread_(std::move(other.unread_)) {}
    LineConnection& operator=(LineConnection&&) = delete;
    ~LineConnection() { close(); }

    [[nodiscard]] bool is_connected() const { return descriptor_ >= 0; }
    [[nodiscard]] base::Result<void> connect();
    // The answer without its end of line. An error closes the connection.
    // REQUIRES: is_connected().
    [[nodiscard]] base::Result<std::string> exchange(const std::string& request);
    void close();

  private:
    explicit LineConnection(net::Endpoint server) : server_(std::move(server)) {}

    base::Result<std::string> try_exchange(const std::string& request);

    net::Endpoint server_;
    int descriptor_ = -1;
    std::string unread_;
};

// DflockdClient: a request has three lines. The TTL of a lease is in whole seconds.
class DflockdClient final : public LockClient {
  public:
    // Sends the token first, if it is not empty.
    DflockdClient(LineConnection line, std::string token, std::chrono::milliseconds ttl)
        : line_(std::move(line)),
          token_(std::move(token)),
          ttl_(std::chrono::ceil<std::chrono::seconds>(ttl)) {}

    base::Result<void> greet() override;
    base::Result<Acquisition> acquire(const std::string& lock) override;
    base::Result<bool> release(const std::string& lock, const Grant& grant) override;

  private:
    struct Request {
        std::string command;
        std::string key;
        std::string argument;
    };

    base::Result<std::string> ask(const Request& request);
    base::Result<void> connect();

    LineConnection line_;
    const std::string token_;
    const std::chrono::seconds ttl_;
};

}  // namespace holdfast::load
