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
    std::string prefix;       // stands before every target; does not end with a slash
    std::string socket_path;  // of a Unix socket; empty: the server is reached by host and port

    // Reads `http://host`, `https://host:port/prefix`, `http://[::1]:8080`. The default port is
    // that of the scheme. The error names the fault.
    [[nodiscard]] static base::Result<HttpAddress> parse(std::string_view url);

    // Reads an address that a client can connect to: a URL as above, or `unix:/run/holdfast.sock`.
    // The server behind a Unix socket speaks plain HTTP and is called `localhost`.
    [[nodiscard]] static base::Result<HttpAddress> parse_server(std::string_view text);

    [[nodiscard]] bool is_unix() const { return !socket_path.empty(); }

    // The inverse of the functions above.
    [[nodiscard]] std::string to_text() const;
    // The value of the Host header: `host`, or `host:port` if the port is not the scheme's.
    [[nodiscard]] std::string authority() const;
};

}  // namespace holdfast::net
