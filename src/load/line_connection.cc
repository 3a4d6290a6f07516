#include "load/line_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace holdfast::load {

base::Result<LineConnection> LineConnection::open(const std::string& address) {
    TRY(const auto server, net::parse_endpoint(address));
    return LineConnection(server);
}

base::Result<void> LineConnection::connect() {
    close();
    const auto fail = [this](const char* reason) {
        close();
        return base::fail("cannot connect to " + net::to_text(server_) + ": " + reason);
    };
    descriptor_ =
        ::socket(server_.socket_address().protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) return fail(std::strerror(errno));
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const int yes = 1;
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const auto size = static_cast<socklen_t>(server_.socket_address().size());
    if (::connect(descriptor_, server_.socket_address().data(), size) != 0)
        return fail(std::strerror(errno));
    return {};
}

base::Result<std::string> LineConnection::exchange(const std::string& request) {
    auto answer = try_exchange(request);
    if (!answer) close();
    return answer;
}

base::Result<std::string> LineConnection::try_exchange(const std::string& request) {
    std::string_view unsent = request;
    while (!unsent.empty()) {
        const auto count = ::send(descriptor_, unsent.data(), unsent.size(), MSG_NOSIGNAL);
        if (count <= 0) return base::fail("the server takes no requests");
        unsent.remove_prefix(static_cast<std::size_t>(count));
    }
    std::size_t end;
    while ((end = unread_.find('\n')) == std::string::npos) {
        std::array<char, 4096> buffer;
        const auto count = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        if (count == 0) return base::fail("the server closed the connection");
        if (count < 0) return base::fail("the server does not answer");
        unread_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    std::string line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    return line;
}

void LineConnection::close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    unread_.clear();
}

}  // namespace holdfast::load
