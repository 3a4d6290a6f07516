#include "net/client/http_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text/number.h"
#include "net/sockets/endpoint.h"

namespace holdfast::net {

namespace {

constexpr std::string_view plain_scheme = "http://";
constexpr std::string_view tls_scheme = "https://";
constexpr std::string_view unix_scheme = "unix:";

std::string_view default_port(bool is_tls) {
    return is_tls ? "443" : "80";
}

// An address becomes part of a request's first line, which such a character would end.
bool is_unprintable(char byte) {
    return byte <= ' ' || byte == '\x7f';
}

struct Authority {
    std::string_view host;
    std::optional<std::string_view> port;
};

std::optional<Authority> split(std::string_view authority) {
    const std::size_t host_end = authority.find(':');
    if (authority.starts_with('[')) {
        const std::size_t bracket = authority.find(']');
        if (bracket == std::string_view::npos) return std::nullopt;
        const auto rest = authority.substr(bracket + 1);
        const auto host = authority.substr(1, bracket - 1);
        if (rest.empty()) return Authority{.host = host};
        if (rest.front() != ':') return std::nullopt;
        return Authority{.host = host, .port = rest.substr(1)};
    }
    if (host_end == std::string_view::npos) return Authority{.host = authority};
    return Authority{.host = authority.substr(0, host_end), .port = authority.substr(host_end + 1)};
}

}  // namespace

base::Result<HttpAddress> HttpAddress::parse(std::string_view url) {
    HttpAddress address;
    std::string_view rest = url;
    if (rest.starts_with(plain_scheme)) {
        rest.remove_prefix(plain_scheme.size());
    } else if (rest.starts_with(tls_scheme)) {
        rest.remove_prefix(tls_scheme.size());
        address.is_tls = true;
    } else {
        return base::fail(fmt::format("'{}' does not begin with http:// or https://", url));
    }
    if (std::any_of(rest.begin(), rest.end(), is_unprintable)) {
        return base::fail(fmt::format("'{}' has a space or a control character in it", url));
    }
    if (rest.find_first_of("?#@") != std::string_view::npos) {
        return base::fail(fmt::format("'{}' is more than http://HOST:PORT/PATH", url));
    }
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const auto authority = split(rest.substr(0, slash));
    if (!authority || authority->host.empty()) {
        return base::fail(fmt::format("'{}' names no host", url));
    }
    if (authority->port && base::parse_decimal<std::uint16_t>(*authority->port).value_or(0) == 0) {
        return base::fail(fmt::format("'{}' has no port from 1 to 65535 after its colon", url));
    }
    address.host = authority->host;
    address.port = authority->port.value_or(default_port(address.is_tls));
    address.prefix = rest.substr(slash);
    while (address.prefix.ends_with('/')) address.prefix.pop_back();
    return address;
}

base::Result<HttpAddress> HttpAddress::parse_server(std::string_view text) {
    if (!text.starts_with(unix_scheme)) {
        const bool has_scheme = text.find("://") != std::string_view::npos;
        if (has_scheme || text.empty()) return parse(text);
        return parse(std::string(plain_scheme).append(text));
    }
    TRY(const Endpoint endpoint, parse_endpoint(text));
    return HttpAddress{.host = "localhost",
                       .port = std::string(default_port(false)),
                       .socket_path = endpoint.path()};
}

std::string HttpAddress::to_text() const {
    if (is_unix()) return fmt::format("{}{}", unix_scheme, socket_path);
    return fmt::format("{}{}{}", is_tls ? tls_scheme : plain_scheme, authority(), prefix);
}

std::string HttpAddress::authority() const {
    const bool is_ipv6 = host.find(':') != std::string::npos;
    std::string text = is_ipv6 ? "[" + host + "]" : host;
    if (port != default_port(is_tls)) text += ":" + port;
    return text;
}

}  // namespace holdfast::net
