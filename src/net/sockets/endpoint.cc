#include "net/sockets/endpoint.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <charconv>
#include <cstdint>

namespace holdfast::net {

namespace asio = boost::asio;

namespace {

constexpr std::string_view unix_prefix = "unix:";
// What the system allows, less the suffix under which Listener makes a socket.
constexpr std::size_t path_length_max = sizeof sockaddr_un{}.sun_path - 1 - 9;

base::Result<Endpoint> parse_unix_socket(std::string_view text) {
    const std::string_view path = text.substr(unix_prefix.size());
    if (path.empty() || path.find('\0') != std::string_view::npos) {
        return base::fail(fmt::format("'{}' has no path after unix:", text));
    }
    if (path.size() > path_length_max) {
        return base::fail(
            fmt::format("the path of '{}' is longer than the {} bytes that a socket may have", text,
                        path_length_max));
    }
    return Endpoint::unix_socket(std::string(path));
}

}  // namespace

asio::generic::stream_protocol::endpoint Endpoint::socket_address() const {
    if (is_unix()) return asio::local::stream_protocol::endpoint(path_);
    return tcp_;
}

base::Result<Endpoint> parse_endpoint(std::string_view text) {
    if (text.starts_with(unix_prefix)) return parse_unix_socket(text);
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return base::fail(fmt::format("'{}' is not ADDRESS:PORT, such as 127.0.0.1:8080", text));
    }
    auto host = text.substr(0, colon);
    const auto port_text = text.substr(colon + 1);

    std::uint16_t port = 0;
    const char* const end = port_text.data() + port_text.size();
    const auto [stop, fault] = std::from_chars(port_text.data(), end, port);
    if (fault != std::errc{} || stop != end) {
        return base::fail(fmt::format("'{}' has no port from 0 to 65535 after its colon", text));
    }

    const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    if (host == "localhost") host = "127.0.0.1";
    if (host.empty()) host = "0.0.0.0";
    boost::system::error_code error;
    const auto address = asio::ip::make_address(std::string(host), error);
    if (error) {
        return base::fail(fmt::format("'{}' does not begin with an IP address or localhost", text));
    }
    if (address.is_v6() != bracketed) {
        return base::fail(fmt::format("'{}': write IPv6 as [ADDRESS]:PORT, IPv4 without []", text));
    }
    return Endpoint(address, port);
}

std::string to_text(const Endpoint& endpoint) {
    if (endpoint.is_unix()) return fmt::format("{}{}", unix_prefix, endpoint.path());
    const auto address = endpoint.tcp().address();
    return address.is_v6() ? fmt::format("[{}]:{}", address.to_string(), endpoint.port())
                           : fmt::format("{}:{}", address.to_string(), endpoint.port());
}

}  // namespace holdfast::net
