#include "net/client/dial.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "base/result.h"
#include "net/loop/endpoint.h"

namespace holdfast::net {

namespace {

using Kind = HttpFailure::Kind;

// An address as the system's calls want it.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* data() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
};

SocketAddress to_socket_address(const void* address, std::size_t size) {
    SocketAddress result;
    std::memcpy(&result.storage, address, size);
    result.size = static_cast<socklen_t>(size);
    return result;
}

tl::unexpected<HttpFailure> cancelled() {
    return http_failure(Kind::cancelled, "cancelled");
}

tl::unexpected<HttpFailure> not_connected(const HttpAddress& server, const std::string& reason) {
    return http_failure(Kind::unreachable, "cannot connect to " + server.to_text() + ": " + reason);
}

tl::unexpected<HttpFailure> not_found(const HttpAddress& server, const std::string& reason) {
    return http_failure(Kind::unreachable, server.host + " has no address: " + reason);
}

// The search for the addresses of a host. Shared by the call and the thread that searches.
struct Lookup {
    std::string host, port;
    int done = -1;  // an eventfd, readable when the members below are complete
    int fault = 0;  // of getaddrinfo()
    std::vector<SocketAddress> found;

    ~Lookup() {
        if (done >= 0) ::close(done);
    }
};

void look_up(Lookup& lookup, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* list = nullptr;
    lookup.fault = ::getaddrinfo(lookup.host.c_str(), lookup.port.c_str(), &hints, &list);
    if (lookup.fault != 0) return;
    for (const addrinfo* item = list; item != nullptr; item = item->ai_next) {
        lookup.found.push_back(to_socket_address(item->ai_addr, item->ai_addrlen));
    }
    ::freeaddrinfo(list);
}

// All addresses of the server, in the order in which they should be tried; at least one.
HttpResult<std::vector<SocketAddress>> resolve(const HttpAddress& server, Waiter& waiter) {
    if (server.is_unix()) {
        const auto address = Endpoint::unix_socket(server.socket_path).socket_address();
        return std::vector{to_socket_address(address.data(), address.size())};
    }
    const auto lookup = std::make_shared<Lookup>();
    lookup->host = server.host;
    lookup->port = server.port;
    look_up(*lookup, AI_NUMERICHOST | AI_NUMERICSERV);
    if (!lookup->found.empty()) return lookup->found;

    lookup->done = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lookup->done < 0) return not_found(server, std::strerror(errno));
    try {
        std::thread([lookup] {
            look_up(*lookup, AI_NUMERICSERV);
            const std::uint64_t one = 1;
            (void)!::write(lookup->done, &one, sizeof one);
        }).detach();
    } catch (const std::system_error& error) {
        return not_found(server, error.what());
    }
    switch (waiter.wait(lookup->done, POLLIN)) {
        case Waiter::Outcome::ready: break;
        case Waiter::Outcome::timed_out: return not_found(server, "no answer in time");
        case Waiter::Outcome::cancelled: return cancelled();
    }
    std::uint64_t count = 0;
    (void)!::read(lookup->done, &count, sizeof count);
    if (lookup->fault != 0) return not_found(server, ::gai_strerror(lookup->fault));
    return lookup->found;
}

// Lets the system notice that the other side is gone for good while an answer is waited for. A Unix
// socket refuses the options of TCP, and does not need them.
void keep_alive(int descriptor) {
    const auto set = [&](int level, int option, int value) {
        ::setsockopt(descriptor, level, option, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

// A free port of this machine may be given to the very socket that wants to connect to it, and then
// TCP connects the socket with itself.
bool is_own_peer(int descriptor) {
    SocketAddress own, peer;
    own.size = peer.size = sizeof own.storage;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own.storage), &own.size) != 0 ||
        ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size) != 0) {
        return false;
    }
    return own.storage.ss_family != AF_UNIX && own.size == peer.size &&
           std::memcmp(&own.storage, &peer.storage, own.size) == 0;
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
    keep_alive(descriptor);
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
