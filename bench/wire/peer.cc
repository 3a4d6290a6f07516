#include "wire/peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace holdfast::bench {

namespace {

constexpr timeval patience{.tv_sec = 10, .tv_usec = 0};

std::string with_reason(std::string what) {
    return std::move(what) + ": " + std::strerror(errno);
}

}  // namespace

base::Result<Peer> Peer::connect(std::uint16_t port) {
    Peer peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (peer.descriptor_ < 0) return base::fail(with_reason("cannot make a socket"));
    const int on = 1;
    ::setsockopt(peer.descriptor_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(peer.descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(peer.descriptor_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(peer.descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        return base::fail(with_reason("cannot connect to port " + std::to_string(port)));
    }
    return peer;
}

Peer::~Peer() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

base::Result<std::string> Peer::exchange(std::string_view request, const AnswerFramer& framer) {
    TRY(auto answers, exchange_all(request, 1, framer));
    return std::move(answers.front());
}

base::Result<std::vector<std::string>> Peer::exchange_all(std::string_view requests,
                                                          std::size_t count,
                                                          const AnswerFramer& framer) {
    TRY(send(requests));
    return receive(count, framer);
}

base::Result<void> Peer::send(std::string_view requests) {
    while (!requests.empty()) {
        const auto sent = ::send(descriptor_, requests.data(), requests.size(), MSG_NOSIGNAL);
        if (sent <= 0) return base::fail(with_reason("cannot send a request"));
        requests.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
}

base::Result<std::vector<std::string>> Peer::receive(std::size_t count,
                                                     const AnswerFramer& framer) {
    std::vector<std::string> answers;
    std::string held;
    std::array<char, 16384> buffer;
    while (answers.size() < count) {
        const auto received = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
        if (received == 0) return base::fail("the server has closed the connection");
        if (received < 0) return base::fail(with_reason("no answer"));
        held.append(buffer.data(), static_cast<std::size_t>(received));
        for (auto size = framer(held); size > 0; size = framer(held)) {
            answers.push_back(held.substr(0, size));
            held.erase(0, size);
        }
    }
    if (answers.size() > count || !held.empty()) {
        return base::fail("more answers than requests");
    }
    return answers;
}

}  // namespace holdfast::bench
