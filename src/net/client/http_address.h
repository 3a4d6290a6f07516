#pragma once

// HttpAddress: where an HTTP server is, as people write it.

#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::net {

struct HttpAddress {
    bool is_tls = false;
    std::string host;  // a name or an IP address, IPv6 without brackets
    std::string port;
    std::string prefix;  // of every target; no slash at its end, empty if there is none

    // Reads `http://host`, `https://host:port/prefix`, `http://[::1]:8080`. Without a port, it is
    // that of the scheme. The error names the fault.
    [[nodiscard]] static base::Result<HttpAddress> parse(std::string_view url);

    // As parse() reads it.
    [[nodiscard]] std::string to_text() const;
    // `host`, or `host:port` if that is not the scheme's own: what a Host header says.
    [[nodiscard]] std::string authority() const;
};

}  // namespace holdfast::net
