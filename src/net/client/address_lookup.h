#pragma once

// AddressLookup: the addresses of a host, found without making anybody wait for a name server.
//
// An IP address needs no search. A name is looked up on a thread of its own, because getaddrinfo()
// can be neither cancelled nor limited in time. When nobody waits for the thread any more, it ends by
// itself.
//
// Thread safety: none; the thread that searches is hidden.
// Lifetime: may be destroyed at any time.

#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace holdfast::net {

// An address as the system's calls want it.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] static SocketAddress copy(const void* address, std::size_t size);

    [[nodiscard]] const sockaddr* data() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
};

class AddressLookup {
  public:
    // Begins to look for `host`, a name or an IP address without brackets. `port` is a number.
    [[nodiscard]] static base::Result<std::unique_ptr<AddressLookup>> start(
        const std::string& host, const std::string& port);

    // Readable when take() may be called; -1 if there is nothing to wait for.
    [[nodiscard]] int descriptor() const;

    // All addresses, in the order in which they should be tried; at least one. REQUIRES: there is
    // nothing to wait for any more. Called once.
    [[nodiscard]] base::Result<std::vector<SocketAddress>> take();

  private:
    struct Search;

    explicit AddressLookup(std::shared_ptr<Search> search) : search_(std::move(search)) {}

    std::shared_ptr<Search> search_;
};

// A free port of this machine may be given to the very socket that wants to connect to it, and then
// TCP connects the socket with itself.
[[nodiscard]] bool is_own_peer(int descriptor);

}  // namespace holdfast::net
