#include "net/client/resolver.h"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

namespace holdfast::net {

namespace {

using Kind = HttpFailure::Kind;

struct Lookup {
    std::string host, port;
    int done = -1;  // an eventfd, readable when what follows is there
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
        SocketAddress& address = lookup.found.emplace_back();
        std::memcpy(&address.storage, item->ai_addr, item->ai_addrlen);
        address.size = item->ai_addrlen;
    }
    ::freeaddrinfo(list);
}

tl::unexpected<HttpFailure> unknown(const HttpAddress& address, const std::string& reason) {
    return http_failure(Kind::unreachable, address.host + " has no address: " + reason);
}

}  // namespace

HttpResult<std::vector<SocketAddress>> resolve(const HttpAddress& address, Waiter& waiter) {
    const auto lookup = std::make_shared<Lookup>();
    lookup->host = address.host;
    lookup->port = address.port;
    look_up(*lookup, AI_NUMERICHOST | AI_NUMERICSERV);
    if (!lookup->found.empty()) return lookup->found;

    lookup->done = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lookup->done < 0) return unknown(address, std::strerror(errno));
    try {
        std::thread([lookup] {
            look_up(*lookup, AI_NUMERICSERV);
            const std::uint64_t one = 1;
            (void)!::write(lookup->done, &one, sizeof one);
        }).detach();
    } catch (const std::system_error& error) {
        return unknown(address, error.what());
    }
    switch (waiter.wait(lookup->done, POLLIN)) {
        case Waiter::Outcome::ready: break;
        case Waiter::Outcome::timed_out: return unknown(address, "no answer in time");
        case Waiter::Outcome::cancelled: return http_failure(Kind::cancelled, "cancelled");
    }
    std::uint64_t count = 0;
    (void)!::read(lookup->done, &count, sizeof count);
    if (lookup->fault != 0) return unknown(address, ::gai_strerror(lookup->fault));
    return lookup->found;
}

}  // namespace holdfast::net
