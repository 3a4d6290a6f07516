#pragma once

// Switchboard: an address that stays the same while the server behind it comes and goes, so that no
// test needs a port for the second time.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <optional>
#include <string>

#include "net/client/test_peer.h"
#include "net/sockets/endpoint.h"

namespace holdfast::sdk::testing {

class Switchboard {
  public:
    [[nodiscard]] std::string url() const { return peer_.url(); }

    // From now on, connections are made to this address; those that exist stay as they are.
    void connect_to(const std::string& address) {
        const std::lock_guard guard(mutex_);
        server_ = net::parse_endpoint(address).value();
    }

  private:
    void relay(int client) {
        std::optional<net::Endpoint> server;
        {
            const std::lock_guard guard(mutex_);
            server = server_;
        }
        if (!server) return;
        const int upstream =
            ::socket(server->socket_address().protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
        const auto size = static_cast<socklen_t>(server->socket_address().size());
        if (::connect(upstream, server->socket_address().data(), size) == 0) {
            while (move_some(client, upstream)) {
            }
        }
        ::close(upstream);
    }

    // Waits for bytes from either side. False when one has ended.
    static bool move_some(int client, int upstream) {
        std::array<pollfd, 2> sides{pollfd{.fd = client, .events = POLLIN},
                                    pollfd{.fd = upstream, .events = POLLIN}};
        if (::poll(sides.data(), sides.size(), -1) < 0) return errno == EINTR;
        for (const bool is_from_client : {true, false}) {
            if (sides[is_from_client ? 0 : 1].revents == 0) continue;
            std::array<char, 4096> buffer;
            const auto count =
                ::recv(is_from_client ? client : upstream, buffer.data(), buffer.size(), 0);
            if (count <= 0) return false;
            const auto sent = ::send(is_from_client ? upstream : client, buffer.data(),
                                     static_cast<std::size_t>(count), MSG_NOSIGNAL);
            if (sent != count) return false;
        }
        return true;
    }

    std::mutex mutex_;
    std::optional<net::Endpoint> server_;  // under mutex_
    net::TestPeer peer_{
        [this](const auto& conversation, int) { relay(conversation.descriptor()); }};
};

}  // namespace holdfast::sdk::testing
