#include "net/loop/outgoing.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace holdfast::net {

namespace {

// Finds out that the other machine or the network is gone, even if nothing is to be sent.
void watch_for_dead_peer(int socket) {
    const auto set = [socket](int level, int option, int value) {
        ::setsockopt(socket, level, option, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 5);   // seconds of silence
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);  // between questions
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);    // without an answer
}

}  // namespace

base::Result<Transport> begin_connect(const Endpoint& endpoint) {
    const auto address = endpoint.socket_address();
    base::Descriptor socket(
        ::socket(address.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const auto fault = [&endpoint] {
        return base::fail(
            fmt::format("cannot connect to {}: {}", to_text(endpoint), std::strerror(errno)));
    };
    if (!socket) return fault();
    watch_for_dead_peer(socket.get());
    const int returned =
        ::connect(socket.get(), address.data(), static_cast<socklen_t>(address.size()));
    if (returned != 0 && errno != EINPROGRESS) return fault();
    return Transport(socket.release());
}

}  // namespace holdfast::net
