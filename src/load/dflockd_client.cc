#include "load/dflockd_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

namespace holdfast::load {

namespace {

// The first half of a token of 32 hexadecimal digits. 0, which no grant has, if the text is not a
// token.
std::uint64_t fencing_number_of(std::string_view token) {
    constexpr std::size_t digits = 16;
    if (token.size() != 2 * digits) return 0;
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(token.data(), token.data() + digits, number, 16);
    return parsed.ptr == token.data() + digits ? number : 0;
}

}  // namespace

base::Result<LineConnection> LineConnection::open(const std::string& address) {
    TRY(auto server, net::parse_endpoint(address));
    return LineConnection(std::move(server));
}

base::Result<void> LineConnection::connect() {
    close();
    const auto fail = [this](const char* reason) {
        close();
        return base::fail("cannot connect to " + net::to_text(server_) + ": " + reason);
    };
    const auto address = server_.socket_address();
    descriptor_ = ::socket(address.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor_ < 0) return fail(std::strerror(errno));
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const int yes = 1;  // a Unix socket refuses this option, and does not delay
    ::setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const auto size = static_cast<socklen_t>(address.size());
    if (::connect(descriptor_, address.data(), size) != 0) return fail(std::strerror(errno));
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

base::Result<void> DflockdClient::connect() {
    TRY(line_.connect());
    if (token_.empty()) return {};
    TRY(const std::string answer, line_.exchange("auth\n_\n" + token_ + "\n"));
    if (answer == "ok") return {};
    line_.close();
    return base::fail("the server does not take the token: " + answer);
}

base::Result<std::string> DflockdClient::ask(const Request& request) {
    if (!line_.is_connected()) TRY(connect());
    return line_.exchange(request.command + "\n" + request.key + "\n" + request.argument + "\n");
}

// Any answer but a demand for a token is a good one: a server that speaks lines is there.
base::Result<void> DflockdClient::greet() {
    TRY(const std::string answer, ask({.command = "ping", .key = "_"}));
    if (answer == "error_auth") return base::fail("the server wants a token");
    return {};
}

base::Result<Acquisition> DflockdClient::acquire(const std::string& lock) {
    TRY(const std::string answer,
        ask({.command = "l", .key = lock, .argument = "0 " + std::to_string(ttl_.count())}));
    if (answer == "timeout") return Refusal{};
    const std::string_view rest = std::string_view(answer).substr(0, answer.rfind(' '));
    const std::string token(rest.substr(rest.find(' ') + 1));
    const std::uint64_t number = fencing_number_of(token);
    if (!answer.starts_with("ok ") || number == 0) {
        return base::fail("the server answered " + answer);
    }
    return Grant{.lease = token, .fencing_number = number, .ttl = ttl_};
}

base::Result<bool> DflockdClient::release(const std::string& lock, const Grant& grant) {
    TRY(const std::string answer, ask({.command = "r", .key = lock, .argument = grant.lease}));
    if (answer != "ok" && answer != "error") return base::fail("the server answered " + answer);
    return answer == "ok";
}

}  // namespace holdfast::load
