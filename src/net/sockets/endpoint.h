#pragma once

// Endpoint: where a server listens, as people write it: an IP address and a port, or the path of a
// Unix socket.

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace holdfast::net {

class Endpoint {
  public:
    Endpoint() = default;
    // Not explicit: most endpoints are this.
    Endpoint(boost::asio::ip::tcp::endpoint tcp)  // NOLINT(google-explicit-constructor)
        : tcp_(std::move(tcp)) {}
    Endpoint(const boost::asio::ip::address& address, std::uint16_t port) : tcp_(address, port) {}

    // REQUIRES: the path is not empty.
    [[nodiscard]] static Endpoint unix_socket(std::string path) {
        Endpoint endpoint;
        endpoint.path_ = std::move(path);
        return endpoint;
    }

    [[nodiscard]] bool is_unix() const { return !path_.empty(); }
    // Of a Unix socket.
    [[nodiscard]] const std::string& path() const { return path_; }
    // Of all others.
    [[nodiscard]] const boost::asio::ip::tcp::endpoint& tcp() const { return tcp_; }
    // As the system's calls take it, with data(), size() and protocol().family().
    [[nodiscard]] boost::asio::generic::stream_protocol::endpoint socket_address() const;
    [[nodiscard]] std::uint16_t port() const { return tcp_.port(); }

    // Whether only this machine can reach it.
    [[nodiscard]] bool is_local() const { return is_unix() || tcp_.address().is_loopback(); }
    // Whether it stands for every address of the machine.
    [[nodiscard]] bool is_unspecified() const {
        return !is_unix() && tcp_.address().is_unspecified();
    }

    friend bool operator==(const Endpoint&, const Endpoint&) = default;

  private:
    boost::asio::ip::tcp::endpoint tcp_;
    std::string path_;
};

// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` (which is 127.0.0.1), `:8080` (which is
// every IPv4 address of the machine) or `unix:/run/holdfast.sock`. Port 0 means any free one. No
// other names: a server should not depend on a name service to know its own address.
[[nodiscard]] base::Result<Endpoint> parse_endpoint(std::string_view text);

// The inverse: `127.0.0.1:8080`, `[::1]:8080`, `unix:/run/holdfast.sock`.
[[nodiscard]] std::string to_text(const Endpoint& endpoint);

}  // namespace holdfast::net
