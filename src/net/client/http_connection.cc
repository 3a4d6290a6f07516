#include "net/client/http_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/result.h"
#include "net/client/resolver.h"

namespace holdfast::net {

namespace {

using Kind = HttpFailure::Kind;

// Lets the system notice that the other side is gone for good while an answer is waited for.
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
    return own.size == peer.size && std::memcmp(&own.storage, &peer.storage, own.size) == 0;
}

tl::unexpected<HttpFailure> not_connected(const std::string& server, const std::string& reason) {
    return http_failure(Kind::unreachable, "cannot connect to " + server + ": " + reason);
}

tl::unexpected<HttpFailure> cancelled() {
    return http_failure(Kind::cancelled, "cancelled");
}

struct Attempt {
    const SocketAddress& address;
    Waiter::Clock::time_point until;
};

HttpResult<Transport> connect(const Attempt& attempt, const std::string& server, Waiter& waiter) {
    const SocketAddress& address = attempt.address;
    const int descriptor =
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return not_connected(server, std::strerror(errno));
    Transport transport(descriptor);
    keep_alive(descriptor);
    int fault = ::connect(descriptor, address.data(), address.size) == 0 ? 0 : errno;
    if (fault == EINPROGRESS || fault == EINTR) {
        switch (waiter.wait(descriptor, POLLOUT, attempt.until)) {
            case Waiter::Outcome::ready: break;
            case Waiter::Outcome::timed_out: return not_connected(server, "no answer in time");
            case Waiter::Outcome::cancelled: return cancelled();
        }
        socklen_t size = sizeof fault;
        ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &fault, &size);
    }
    if (fault == 0 && is_own_peer(descriptor)) fault = ECONNREFUSED;
    if (fault != 0) return not_connected(server, std::strerror(fault));
    return transport;
}

}  // namespace

HttpResult<std::unique_ptr<HttpConnection>> HttpConnection::open(const HttpAddress& address,
                                                                 const TlsTrust* trust,
                                                                 std::chrono::milliseconds timeout,
                                                                 Waiter& waiter) {
    const std::string server = address.to_text();
    TRY(const auto addresses, resolve(address, waiter));
    tl::unexpected<HttpFailure> failure = not_connected(server, "it has no address");
    for (const SocketAddress& one : addresses) {
        const Attempt attempt{.address = one, .until = Waiter::Clock::now() + timeout};
        auto transport = connect(attempt, server, waiter);
        if (transport) {
            if (trust) transport->encrypt(*trust, address.host);
            return std::unique_ptr<HttpConnection>(
                new HttpConnection(std::move(*transport), server));
        }
        failure = tl::unexpected(std::move(transport).error());
        if (failure.value().kind == Kind::cancelled) break;
    }
    return failure;
}

HttpResult<void> HttpConnection::send(std::string_view bytes, Waiter& waiter) {
    while (!bytes.empty()) {
        const IoResult sent = transport_.send(bytes);
        switch (sent.status) {
            case IoStatus::moved: bytes.remove_prefix(sent.bytes); break;
            case IoStatus::would_block: TRY(wait(transport_.send_events(), waiter)); break;
            case IoStatus::ended:
            case IoStatus::failed: return broken("closed the connection");
        }
    }
    return {};
}

HttpResult<bool> HttpConnection::read_some(HttpAnswerParser& parser, Waiter& waiter) {
    if (!input_.empty()) {
        TRY(const bool is_complete, parse_input(parser));
        if (is_complete) return true;
    }
    std::array<char, TlsStream::record_bytes_max> buffer;
    while (true) {
        const IoResult received = transport_.receive(buffer);
        switch (received.status) {
            case IoStatus::moved:
                input_.append(buffer.data(), received.bytes);
                return parse_input(parser);
            case IoStatus::would_block: TRY(wait(transport_.receive_events(), waiter)); break;
            case IoStatus::ended:
                if (parser.end()) return true;
                return broken("closed the connection");
            case IoStatus::failed: return broken("closed the connection");
        }
    }
}

HttpResult<bool> HttpConnection::parse_input(HttpAnswerParser& parser) {
    std::string_view rest = input_;
    const auto outcome = parser.parse(rest);
    input_.erase(0, input_.size() - rest.size());
    if (outcome == HttpAnswerParser::Outcome::refused) return broken("does not speak HTTP");
    return outcome == HttpAnswerParser::Outcome::complete;
}

bool HttpConnection::is_quiet() const {
    pollfd watched{.fd = transport_.descriptor(), .events = POLLIN};
    return input_.empty() && ::poll(&watched, 1, 0) == 0;
}

HttpResult<void> HttpConnection::wait(std::uint32_t events, Waiter& waiter) {
    switch (waiter.wait(transport_.descriptor(), static_cast<short>(events))) {
        case Waiter::Outcome::ready: return {};
        case Waiter::Outcome::timed_out:
            return http_failure(Kind::timed_out, server_ + " does not answer in time");
        case Waiter::Outcome::cancelled: break;
    }
    return cancelled();
}

tl::unexpected<HttpFailure> HttpConnection::broken(const std::string& how) const {
    const std::string fault = transport_.certificate_fault();
    if (!fault.empty()) {
        return http_failure(Kind::certificate,
                            "the certificate of " + server_ + " is not accepted: " + fault);
    }
    return http_failure(Kind::no_answer, server_ + " " + how);
}

}  // namespace holdfast::net
