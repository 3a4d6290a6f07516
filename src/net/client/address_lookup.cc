#include "net/client/address_lookup.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/descriptor.h"

namespace holdfast::net {

// Shared by the lookup and the thread that searches.
struct AddressLookup::Search {
    std::string host, port;
    base::Descriptor done;  // an eventfd, readable when the members below are complete
    int fault = 0;          // of getaddrinfo()
    std::vector<SocketAddress> found;

    void run(int flags) {
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = flags | AI_NUMERICSERV;
        addrinfo* list = nullptr;
        fault = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
        if (fault != 0) return;
        for (const addrinfo* item = list; item != nullptr; item = item->ai_next) {
            found.push_back(SocketAddress::copy(item->ai_addr, item->ai_addrlen));
        }
        ::freeaddrinfo(list);
    }
};

SocketAddress SocketAddress::copy(const void* address, std::size_t size) {
    SocketAddress result;
    std::memcpy(&result.storage, address, size);
    result.size = static_cast<socklen_t>(size);
    return result;
}

// It reads as an address does. NOLINTNEXTLINE(bugprone-easily-swappable-parameters)
base::Result<std::unique_ptr<AddressLookup>> AddressLookup::start(const std::string& host,
                                                                  const std::string& port) {
    const auto search = std::make_shared<Search>();
    search->host = host;
    search->port = port;
    std::unique_ptr<AddressLookup> lookup(new AddressLookup(search));
    search->run(AI_NUMERICHOST);
    if (!search->found.empty()) return lookup;

    search->done = base::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!search->done) return base::fail(std::strerror(errno));
    try {
        std::thread([search] {
            search->run(0);
            const std::uint64_t one = 1;
            (void)!::write(search->done.get(), &one, sizeof one);
        }).detach();
    } catch (const std::system_error& error) {
        return base::fail(error.what());
    }
    return lookup;
}

int AddressLookup::descriptor() const {
    return search_->done.get();
}

base::Result<std::vector<SocketAddress>> AddressLookup::take() {
    std::uint64_t count = 0;
    if (search_->done) (void)!::read(search_->done.get(), &count, sizeof count);
    if (search_->fault != 0) return base::fail(::gai_strerror(search_->fault));
    if (search_->found.empty()) return base::fail("the name server knows none");
    return std::move(search_->found);
}

bool is_own_peer(int descriptor) {
    SocketAddress own, peer;
    own.size = peer.size = sizeof own.storage;
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own.storage), &own.size) != 0 ||
        ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size) != 0) {
        return false;
    }
    return own.storage.ss_family != AF_UNIX && own.size == peer.size &&
           std::memcmp(&own.storage, &peer.storage, own.size) == 0;
}

}  // namespace holdfast::net
