#include "net/loop/endpoint.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace holdfast::net {

namespace asio = boost::asio;

base::Result<Endpoint> parse_endpoint(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return base::fail(fmt::format("'{}' is not ADDRESS:PORT: it has no port", text));
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
    const auto address = endpoint.address().to_string();
    return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                      : fmt::format("{}:{}", address, endpoint.port());
}

}  // namespace holdfast::net
