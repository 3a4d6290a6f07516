#include "wire/echo_loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace holdfast::bench {

namespace {

constexpr std::size_t batch_max = 256;
constexpr std::size_t descriptors_max = 65536;

[[noreturn]] void stop(const char* what) {
    std::perror(what);
    std::exit(EXIT_FAILURE);
}

}  // namespace

EchoLoop::EchoLoop(EchoOptions options)
    : options_(std::move(options)),
      answers_((buffer_.size() / options_.request_bytes + 1) * options_.answer_bytes, 'x'),
      partial_bytes_(descriptors_max),
      poll_(::epoll_create1(EPOLL_CLOEXEC)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {}

void EchoLoop::run() {
    listen();
    std::array<epoll_event, batch_max> events;
    std::vector<Owed> owed;
    while (true) {
        const int count = ::epoll_wait(poll_, events.data(), batch_max, -1);
        owed.clear();
        for (int i = 0; i < count; ++i) {
            const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
            if (descriptor == listener_) {
                accept();
            } else if (options_.keep) {
                owed.push_back(receive(descriptor));
            } else {
                answer(receive(descriptor));
            }
        }
        if (options_.keep) answer_all(owed);
    }
}

void EchoLoop::listen() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, place, size) != 0) stop("bind");
    if (::listen(listener_, SOMAXCONN) != 0) stop("listen");
    if (::getsockname(listener_, place, &size) != 0) stop("getsockname");
    watch(listener_);
    std::printf("listening echo 127.0.0.1:%d\n", ntohs(address.sin_port));
    std::fflush(stdout);
}

void EchoLoop::watch(int descriptor) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    if (::epoll_ctl(poll_, EPOLL_CTL_ADD, descriptor, &event) != 0) stop("epoll_ctl");
}

void EchoLoop::accept() {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return;
    if (static_cast<std::size_t>(descriptor) >= descriptors_max) stop("too many connections");
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    partial_bytes_[static_cast<std::size_t>(descriptor)] = 0;
    watch(descriptor);
}

EchoLoop::Owed EchoLoop::receive(int descriptor) {
    const auto received = ::recv(descriptor, buffer_.data(), buffer_.size(), 0);
    if (received <= 0) {
        ::close(descriptor);
        return {.descriptor = -1, .answers = 0};
    }
    auto& partial_bytes = partial_bytes_[static_cast<std::size_t>(descriptor)];
    partial_bytes += static_cast<std::size_t>(received);
    const std::size_t requests = partial_bytes / options_.request_bytes;
    partial_bytes %= options_.request_bytes;
    return {.descriptor = descriptor, .answers = requests};
}

// An answer that does not fit into the socket ends the connection: its client is no load client of
// ours.
void EchoLoop::answer(const Owed& owed) {
    const std::size_t bytes = owed.answers * options_.answer_bytes;
    if (bytes == 0) return;
    const auto sent = ::send(owed.descriptor, answers_.data(), bytes, MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(bytes)) ::close(owed.descriptor);
}

void EchoLoop::answer_all(const std::vector<Owed>& owed) {
    std::size_t requests = 0;
    for (const Owed& one : owed) requests += one.answers;
    if (requests > 0) options_.keep(requests);
    for (const Owed& one : owed) answer(one);
}

}  // namespace holdfast::bench
