#pragma once

// Looking up the addresses of a host.

#include <netinet/in.h>
#include <sys/socket.h>

#include <vector>

#include "net/client/http_address.h"
#include "net/client/http_failure.h"
#include "net/client/waiter.h"

namespace holdfast::net {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* data() const {
        return reinterpret_cast<const sockaddr*>(&storage);
    }
};

// All addresses of the host, in the order in which they should be tried; at least one. A name is
// looked up on a thread of its own, since the system's way to do so can be neither cancelled nor
// limited in time; a call that is not waited for any more ends there by itself.
[[nodiscard]] HttpResult<std::vector<SocketAddress>> resolve(const HttpAddress& address,
                                                             Waiter& waiter);

}  // namespace holdfast::net
