#include "doors/hengdang/http/own_urls.h"

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "net/client/http_address.h"

namespace holdfast::doors::hengdang {

namespace {

std::string base_of(bool has_tls, const std::string& authority) {
    return (has_tls ? "https://" : "http://") + authority;
}

}  // namespace

// Some clients write the default port of the scheme and some leave it out: both mean the same
// address.
void OwnUrls::add(std::string_view url) {
    const auto address = net::HttpAddress::parse(url);
    CHECK(address);
    const bool is_ipv6 = address->host.find(':') != std::string::npos;
    const std::string host = is_ipv6 ? "[" + address->host + "]" : address->host;
    const std::string with_port =
        base_of(address->is_tls, host + ":" + address->port) + address->prefix;
    for (const std::string& base : {address->to_text(), with_port}) {
        if (std::ranges::find(bases_, base) == bases_.end()) bases_.push_back(base);
    }
}

OwnUrls::OwnUrls(const Sources& sources) {
    for (const std::string& url : sources.named) add(url);
    if (sources.endpoint.is_unspecified() || sources.endpoint.is_unix()) return;
    add(base_of(sources.has_tls, net::to_text(sources.endpoint)));
    if (!sources.endpoint.is_local()) return;
    const std::string port = ":" + std::to_string(sources.endpoint.port());
    for (const char* name : {"localhost", "127.0.0.1", "[::1]"}) {
        add(base_of(sources.has_tls, name + port));
    }
}

std::vector<std::string> OwnUrls::of(std::string_view target) const {
    std::vector<std::string> urls;
    urls.reserve(bases_.size());
    for (const std::string& base : bases_) urls.push_back(base + std::string(target));
    return urls;
}

// Clients write the host in lower case, as the standard for URLs says.
base::Result<std::string> read_own_url(std::string_view text) {
    TRY(auto address, net::HttpAddress::parse(text));
    std::transform(address.host.begin(), address.host.end(), address.host.begin(),
                   [](unsigned char letter) { return std::tolower(letter); });
    return address.to_text();
}

}  // namespace holdfast::doors::hengdang
