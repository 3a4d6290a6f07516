#include "net/transport.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace holdfast::net {

namespace {

IoStatus status_of(int error_number) {
    const bool later =
        error_number == EAGAIN || error_number == EWOULDBLOCK || error_number == EINTR;
    return later ? IoStatus::would_block : IoStatus::failed;
}

}  // namespace

Transport::Transport(int descriptor) : descriptor_(descriptor) {
    const int on = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Transport::~Transport() {
    close();
}

IoResult Transport::receive(std::span<char> buffer) {
    const ssize_t count = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (count > 0) return {IoStatus::moved, static_cast<std::size_t>(count)};
    if (count == 0) return {IoStatus::ended};
    return {status_of(errno)};
}

IoResult Transport::send(std::string_view bytes) {
    const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) return {IoStatus::moved, static_cast<std::size_t>(count)};
    return {status_of(errno)};
}

void Transport::finish_sending() {
    ::shutdown(descriptor_, SHUT_WR);
}

void Transport::close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

}  // namespace holdfast::net
