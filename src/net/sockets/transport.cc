#include "net/sockets/transport.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "net/sockets/endpoint.h"

namespace holdfast::net {

namespace {

IoStatus status_of(int error_number) {
    const bool later =
        error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
    return later ? IoStatus::would_block : IoStatus::failed;
}

}  // namespace

void notice_lost_peer(int descriptor, const KeepAlive& times) {
    const auto set = [descriptor](int level, int option, int value) {
        ::setsockopt(descriptor, level, option, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, times.silence_s);
    set(IPPROTO_TCP, TCP_KEEPINTVL, times.interval_s);
    set(IPPROTO_TCP, TCP_KEEPCNT, times.questions);
}

Transport::Transport(int descriptor) : descriptor_(descriptor) {
    const int on = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Transport::~Transport() {
    close();
}

void Transport::encrypt(const TlsContext& context) {
    tls_ = std::make_unique<TlsStream>(context, descriptor_);
}

void Transport::encrypt(const TlsTrust& trust, const std::string& host) {
    tls_ = std::make_unique<TlsStream>(trust, host, descriptor_);
}

IoResult Transport::receive(std::span<char> buffer) {
    if (tls_) return tls_->receive(buffer);
    const ssize_t count = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (count > 0) return {IoStatus::moved, static_cast<std::size_t>(count)};
    if (count == 0) return {IoStatus::ended};
    return {status_of(errno)};
}

IoResult Transport::send(std::string_view bytes) {
    if (tls_) return tls_->send(bytes);
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) return {IoStatus::moved, static_cast<std::size_t>(count)};
    return {status_of(errno)};
}

bool Transport::finish_sending() {
    if (tls_ && !tls_->finish_sending()) return false;
    ::shutdown(descriptor_, SHUT_WR);
    return true;
}

std::string Transport::peer_address() const {
    boost::asio::ip::tcp::endpoint peer;
    auto size = static_cast<socklen_t>(peer.capacity());
    if (::getpeername(descriptor_, peer.data(), &size) != 0) return "";
    const int family = peer.data()->sa_family;
    if (family == AF_UNIX) return "unix";
    if (family != AF_INET && family != AF_INET6) return "";
    peer.resize(size);
    return to_text(peer);
}

void Transport::close() {
    if (descriptor_ < 0) return;
    // Says that this is the end, if the socket accepts it: otherwise the peer must think that
    // something was cut off.
    if (tls_) (void)tls_->finish_sending();
    tls_.reset();
    ::close(std::exchange(descriptor_, -1));
}

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
