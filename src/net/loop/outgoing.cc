#include "net/loop/outgoing.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace holdfast::net {

base::Result<Transport> begin_connect(const Endpoint& endpoint) {
    const auto address = endpoint.socket_address();
    base::Descriptor socket(
        ::socket(address.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const auto fault = [&endpoint] {
        return base::fail(
            fmt::format("cannot connect to {}: {}", to_text(endpoint), std::strerror(errno)));
    };
    if (!socket) return fault();
    notice_lost_peer(socket.get(), {.silence_s = 5});
    const int returned =
        ::connect(socket.get(), address.data(), static_cast<socklen_t>(address.size()));
    if (returned != 0 && errno != EINPROGRESS) return fault();
    return Transport(socket.release());
}

}  // namespace holdfast::net
