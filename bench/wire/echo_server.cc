// echo_server REQUEST_BYTES ANSWER_BYTES: what the kernel alone allows.
//
// Answers every REQUEST_BYTES it receives with ANSWER_BYTES, all of them the letter x, without
// looking at anything: one epoll set, one receive and one send per wake-up and connection. No
// server that reads its requests can do less, so its rate is the honest upper bound for one with
// the same message sizes.
//
// Listens on a free port of 127.0.0.1, prints `listening echo 127.0.0.1:PORT`, and runs until it is
// ended.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr std::size_t batch_max = 256;
constexpr std::size_t descriptors_max = 65536;

struct Sizes {
    std::size_t request_bytes;
    std::size_t answer_bytes;
};

[[noreturn]] void stop(const char* what) {
    std::perror(what);
    std::exit(EXIT_FAILURE);
}

class EchoServer {
  public:
    explicit EchoServer(const Sizes& sizes)
        : sizes_(sizes),
          answers_((buffer_.size() / sizes.request_bytes + 1) * sizes.answer_bytes, 'x'),
          partial_bytes_(descriptors_max) {}

    // Returns the port.
    int listen();
    [[noreturn]] void run();

  private:
    void watch(int descriptor) const;
    void accept();
    void answer(int descriptor);

    const Sizes sizes_;
    std::array<char, std::size_t{64} * 1024> buffer_;
    const std::string answers_;
    std::vector<std::size_t> partial_bytes_;  // of a request begun, by descriptor
    const int poll_ = ::epoll_create1(EPOLL_CLOEXEC);
    const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
};

int EchoServer::listen() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, place, size) != 0) stop("bind");
    if (::listen(listener_, SOMAXCONN) != 0) stop("listen");
    if (::getsockname(listener_, place, &size) != 0) stop("getsockname");
    watch(listener_);
    return ntohs(address.sin_port);
}

void EchoServer::run() {
    std::array<epoll_event, batch_max> events;
    while (true) {
        const int count = ::epoll_wait(poll_, events.data(), batch_max, -1);
        for (int i = 0; i < count; ++i) {
            const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
            if (descriptor == listener_) {
                accept();
            } else {
                answer(descriptor);
            }
        }
    }
}

void EchoServer::watch(int descriptor) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    if (::epoll_ctl(poll_, EPOLL_CTL_ADD, descriptor, &event) != 0) stop("epoll_ctl");
}

void EchoServer::accept() {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return;
    if (static_cast<std::size_t>(descriptor) >= descriptors_max) stop("too many connections");
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    partial_bytes_[static_cast<std::size_t>(descriptor)] = 0;
    watch(descriptor);
}

// An answer that does not fit into the socket ends the connection: its client is no load client of
// ours.
void EchoServer::answer(int descriptor) {
    const auto received = ::recv(descriptor, buffer_.data(), buffer_.size(), 0);
    if (received <= 0) {
        ::close(descriptor);
        return;
    }
    auto& partial_bytes = partial_bytes_[static_cast<std::size_t>(descriptor)];
    partial_bytes += static_cast<std::size_t>(received);
    const std::size_t bytes = partial_bytes / sizes_.request_bytes * sizes_.answer_bytes;
    partial_bytes %= sizes_.request_bytes;
    if (bytes == 0) return;
    const auto sent = ::send(descriptor, answers_.data(), bytes, MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(bytes)) ::close(descriptor);
}

}  // namespace

int main(int argument_count, char** arguments) {
    Sizes sizes{};
    if (argument_count == 3) {
        sizes = {std::strtoul(arguments[1], nullptr, 10), std::strtoul(arguments[2], nullptr, 10)};
    }
    if (sizes.request_bytes == 0 || sizes.answer_bytes == 0) {
        std::fputs("usage: echo_server REQUEST_BYTES ANSWER_BYTES\n", stderr);
        return 2;
    }
    EchoServer server(sizes);
    std::printf("listening echo 127.0.0.1:%d\n", server.listen());
    std::fflush(stdout);
    server.run();
}
