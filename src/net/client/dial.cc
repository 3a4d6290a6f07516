#include "net/client/dial.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/result.h"
#include "net/client/address_lookup.h"
#include "net/sockets/endpoint.h"

namespace holdfast::net {

namespace {

using Kind = HttpFailure::Kind;

tl::unexpected<HttpFailure> cancelled() {
    return http_failure(Kind::cancelled, "cancelled");
}

tl::unexpected<HttpFailure> not_connected(const HttpAddress& server, const std::string& reason) {
    return http_failure(Kind::unreachable, "cannot connect to " + server.to_text() + ": " + reason);
}

tl::unexpected<HttpFailure> not_found(const HttpAddress& server, const std::string& reason) {
    return http_failure(Kind::unreachable, server.host + " has no address: " + reason);
}

// All addresses of the server, in the order in which they should be tried; at least one.
HttpResult<std::vector<SocketAddress>> resolve(const HttpAddress& server, Waiter& waiter) {
    if (server.is_unix()) {
        const auto address = Endpoint::unix_socket(server.socket_path).socket_address();
        return std::vector{SocketAddress::copy(address.data(), address.size())};
    }
    const auto lookup = AddressLookup::start(server.host, server.port);
    if (!lookup) return not_found(server, lookup.error().message);
    if (const int descriptor = (*lookup)->descriptor(); descriptor >= 0) {
        switch (waiter.wait(descriptor, POLLIN)) {
            case Waiter::Outcome::ready: break;
            case Waiter::Outcome::timed_out: return not_found(server, "no answer in time");
            case Waiter::Outcome::cancelled: return cancelled();
        }
    }
    auto found = (*lookup)->take();
    if (!found) return not_found(server, found.error().message);
    return std::move(*found);
}

// A Unix socket whose server is slow to accept says EAGAIN instead of waiting. It reports nothing
// to wait for, so it is tried again after this pause.
constexpr std::chrono::milliseconds full_backlog_pause{5};

// Starts to connect. 0, or the errno of the failure.
int start_connecting(int descriptor, const SocketAddress& address, Waiter::Clock::time_point until,
                     Waiter& waiter) {
    while (true) {
        if (::connect(descriptor, address.data(), address.size) == 0) return 0;
        if (errno != EAGAIN || address.storage.ss_family != AF_UNIX) return errno;
        const auto next = std::min(until, Waiter::Clock::now() + full_backlog_pause);
        if (waiter.pause(next) == Waiter::Outcome::cancelled) return ECANCELED;
        if (Waiter::Clock::now() >= std::min(until, waiter.deadline())) return EAGAIN;
    }
}

HttpResult<Transport> connect(const HttpAddress& server, const SocketAddress& address,
                              Waiter::Clock::time_point until, Waiter& waiter) {
    const int descriptor =
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return not_connected(server, std::strerror(errno));
    Transport transport(descriptor);
    notice_lost_peer(descriptor);
    int fault = start_connecting(descriptor, address, until, waiter);
    if (fault == EINPROGRESS || fault == EINTR) {
        switch (waiter.wait(descriptor, POLLOUT, until)) {
            case Waiter::Outcome::ready: break;
            case Waiter::Outcome::timed_out: return not_connected(server, "no answer in time");
            case Waiter::Outcome::cancelled: return cancelled();
        }
        socklen_t size = sizeof fault;
        ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &fault, &size);
    }
    if (fault == ECANCELED) return cancelled();
    if (fault == EAGAIN) return not_connected(server, "no answer in time");
    if (fault == 0 && is_own_peer(descriptor)) fault = ECONNREFUSED;
    if (fault != 0) return not_connected(server, std::strerror(fault));
    return transport;
}

}  // namespace

HttpResult<Transport> dial(const HttpAddress& address, std::chrono::milliseconds timeout,
                           Waiter& waiter) {
    TRY(const auto addresses, resolve(address, waiter));
    tl::unexpected<HttpFailure> failure = not_connected(address, "it has no address");
    for (const SocketAddress& one : addresses) {
        auto transport = connect(address, one, Waiter::Clock::now() + timeout, waiter);
        if (transport) return transport;
        failure = tl::unexpected(std::move(transport).error());
        if (failure.value().kind == Kind::cancelled) break;
    }
    return failure;
}

}  // namespace holdfast::net
