#pragma once

// Endpoint: where a server listens, as people write it.

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::net {

using Endpoint = boost::asio::ip::tcp::endpoint;

// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` (which is 127.0.0.1) or `:8080` (which is
// every IPv4 address of the machine). Port 0 means any free one. No other names: a server should
// not depend on a name service to know its own address.
[[nodiscard]] base::Result<Endpoint> parse_endpoint(std::string_view text);

// The inverse: `127.0.0.1:8080`, `[::1]:8080`.
[[nodiscard]] std::string to_text(const Endpoint& endpoint);

}  // namespace holdfast::net
