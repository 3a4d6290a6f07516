#include "net/sockets/listener.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/ip/v6_only.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/descriptor.h"

namespace holdfast::net {

namespace {

// Connections accepted before others get their turn.
constexpr int accepts_per_turn_max = 64;
// How long to wait when the system refuses us another descriptor.
constexpr std::chrono::milliseconds rest_time{100};

// Faults of the connection that was to be accepted: the next one may be fine.
bool concerns_peer_only(int error_number) {
    switch (error_number) {
        case ECONNABORTED:
        case EINTR:
        case EPROTO:
        case EPERM:
        case ENETDOWN:
        case ENETUNREACH:
        case EHOSTDOWN:
        case EHOSTUNREACH:
        case ENOPROTOOPT:
        case ENONET:
        case EOPNOTSUPP: return true;
        default: return false;
    }
}

base::Error fault(const Endpoint& endpoint, std::string_view why) {
    return {fmt::format("cannot listen on {}: {}", to_text(endpoint), why)};
}

// bind() or connect().
using AddressCall = int (*)(int, const sockaddr*, socklen_t);

int call_with(AddressCall function, int socket, const std::string& path) {
    const auto address = Endpoint::unix_socket(path).socket_address();
    return function(socket, address.data(), static_cast<socklen_t>(address.size()));
}

// Whether the path may be taken: there is nothing, or a socket at which nobody listens any more.
base::Result<void> check_socket_file(const Endpoint& endpoint) {
    struct stat found {};
    if (::lstat(endpoint.path().c_str(), &found) != 0) return {};
    if (!S_ISSOCK(found.st_mode)) {
        return tl::unexpected(fault(endpoint, "there is a file that is no socket"));
    }
    const base::Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const bool is_alive =
        call_with(::connect, probe.get(), endpoint.path()) == 0 || errno == EAGAIN;
    if (is_alive) return tl::unexpected(fault(endpoint, "another server listens there"));
    if (errno == ECONNREFUSED || errno == ENOENT) return {};
    return tl::unexpected(fault(endpoint, std::strerror(errno)));
}

}  // namespace

base::Result<std::unique_ptr<Listener>> Listener::open(EventLoop& loop, const Endpoint& endpoint) {
    return endpoint.is_unix() ? open_unix(loop, endpoint) : open_tcp(loop, endpoint);
}

// The socket is made under another name and gets the right one when it is complete: nobody can
// connect before its permissions are set, and what a killed server has left is replaced in one step.
base::Result<std::unique_ptr<Listener>> Listener::open_unix(EventLoop& loop,
                                                            const Endpoint& endpoint) {
    TRY(check_socket_file(endpoint));
    const std::string& path = endpoint.path();
    const std::string first_path = path + "." + std::to_string(::getpid());
    base::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::unlink(first_path.c_str());
    struct stat made {};
    constexpr mode_t permissions = 0660;
    const bool is_done =
        socket.get() >= 0 && call_with(::bind, socket.get(), first_path) == 0 &&
        ::chmod(first_path.c_str(), permissions) == 0 && ::listen(socket.get(), SOMAXCONN) == 0 &&
        ::lstat(first_path.c_str(), &made) == 0 && ::rename(first_path.c_str(), path.c_str()) == 0;
    if (!is_done) {
        const int error_number = errno;
        ::unlink(first_path.c_str());
        return tl::unexpected(fault(endpoint, std::strerror(error_number)));
    }
    std::unique_ptr<Listener> listener(new Listener(loop, socket.release(), endpoint));
    listener->socket_file_ = made.st_ino;
    return listener;
}

base::Result<std::unique_ptr<Listener>> Listener::open_tcp(EventLoop& loop,
                                                           const Endpoint& endpoint) {
    namespace asio = boost::asio;
    using Acceptor = asio::ip::tcp::acceptor;
    boost::system::error_code error;
    Acceptor acceptor(loop.context());
    acceptor.open(endpoint.tcp().protocol(), error);
    if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
    if (!error && endpoint.tcp().address().is_v6()) {
        acceptor.set_option(asio::ip::v6_only(true), error);
    }
    if (!error) acceptor.non_blocking(true, error);
    if (!error) acceptor.bind(endpoint.tcp(), error);
    if (!error) acceptor.listen(Acceptor::max_listen_connections, error);
    if (error) return tl::unexpected(fault(endpoint, error.message()));
    auto bound = acceptor.local_endpoint(error);
    if (error) return tl::unexpected(fault(endpoint, error.message()));
    notice_lost_peer(acceptor.native_handle(), {.interval_s = 15, .questions = 4});
    const int descriptor = acceptor.release(error);
    if (error) return tl::unexpected(fault(endpoint, error.message()));
    return std::unique_ptr<Listener>(new Listener(loop, descriptor, std::move(bound)));
}

Listener::Listener(EventLoop& loop, int descriptor, Endpoint endpoint)
    : loop_(loop),
      descriptor_(descriptor),
      endpoint_(std::move(endpoint)),
      retry_(loop, [this] { watch(); }),
      faults_(std::chrono::seconds{10}) {}

Listener::~Listener() {
    stop();
}

void Listener::start(OnAccept on_accept, OnError on_error) {
    on_accept_ = std::move(on_accept);
    on_error_ = std::move(on_error);
    watch();
}

void Listener::stop() {
    if (descriptor_ < 0) return;
    retry_.cancel();
    if (std::exchange(watched_, false)) loop_.poller().remove(descriptor_);
    ::close(std::exchange(descriptor_, -1));
    struct stat found {};
    if (socket_file_ != 0 && ::lstat(endpoint_.path().c_str(), &found) == 0 &&
        found.st_ino == socket_file_) {
        ::unlink(endpoint_.path().c_str());
    }
}

void Listener::on_ready(std::uint32_t) {
    for (int i = 0; i < accepts_per_turn_max && watched_; ++i) {
        const int accepted = ::accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted >= 0) {
            on_accept_(Transport(accepted));
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (!concerns_peer_only(errno)) {
            return rest(errno);
        }
    }
}

void Listener::rest(int error_number) {
    if (std::exchange(watched_, false)) loop_.poller().remove(descriptor_);
    retry_.call_at(loop_.now() + rest_time);
    const auto times = faults_.count(loop_.now());
    if (!times || !on_error_) return;
    on_error_(
        {fmt::format("cannot accept a connection on {}: {} (tried {} times since the last "
                     "message); trying again "
                     "every {} ms",
                     to_text(endpoint_), std::strerror(error_number), *times, rest_time.count())});
}

void Listener::watch() {
    if (descriptor_ < 0 || watched_) return;
    watched_ = loop_.poller().add(descriptor_, EPOLLIN, *this);
    if (!watched_) rest(errno);
}

}  // namespace holdfast::net
