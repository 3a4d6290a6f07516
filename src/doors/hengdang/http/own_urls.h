#pragma once

// OwnUrls: the addresses by which the clients of the file door know it.
//
// A login event is signed for one address. If the server believed the `Host` header of the request,
// an event that was signed for another server would be accepted here as well: the operator of that
// server could send it on. So the server compares the address in the event with its own addresses,
// which come only from the operator and the endpoint of the listener:
//
// - the addresses that the operator has named;
// - the IP address of the listener, unless that is the wildcard;
// - on a loopback address also `localhost`, `127.0.0.1` and `[::1]`.
//
// Thread safety: a value; const functions may be called from any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/sockets/endpoint.h"

namespace holdfast::doors::hengdang {

class OwnUrls {
  public:
    OwnUrls() = default;

    struct Sources {
        const std::vector<std::string>& named;  // as read_own_url() returns them
        const net::Endpoint& endpoint;          // where the door listens
        bool has_tls = false;
    };
    explicit OwnUrls(const Sources& sources);

    // The addresses of `target` (`/auth/session`) here, in every spelling that is accepted.
    [[nodiscard]] std::vector<std::string> of(std::string_view target) const;

  private:
    void add(std::string_view url);

    std::vector<std::string> bases_;  // `http://host:port/prefix`, each once
};

// The address that an operator has written: `https://files.example.org`, perhaps with a port and
// with a path that a proxy removes. Returns it in one spelling; an error names the fault.
[[nodiscard]] base::Result<std::string> read_own_url(std::string_view text);

}  // namespace holdfast::doors::hengdang
