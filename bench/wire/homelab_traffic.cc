#include "wire/homelab_traffic.h"

#include <fmt/format.h>

namespace holdfast::bench {

namespace {

// `space` makes up for a method with a shorter name: a header's value may have any before it.
std::string request(std::string_view method, std::size_t number, std::string_view space) {
    return fmt::format(
        "{0} /lock?client=c{1:04}&job=j{1:04} HTTP/1.1\r\n"
        "Host: 127.0.0.1:8080\r\n"
        "User-Agent: curl/7.88.1\r\n"
        "Accept:{2}*/*\r\n"
        "\r\n",
        method, number, space);
}

}  // namespace

Requests take_and_give_back(std::size_t number) {
    return {request("POST", number, "   "), request("DELETE", number, " ")};
}

std::string renewal_request(std::size_t number) {
    return fmt::format(
        "POST /lock?client=c{0:04}&ttl=30s&job=j{0:04} HTTP/1.1\r\n"
        "Host: 127.0.0.1:8080\r\n"
        "User-Agent: curl/7.88.1\r\n"
        "Accept: */*\r\n"
        "\r\n",
        number);
}

base::Result<std::string> take_and_renew(Peer& peer, std::size_t number) {
    const std::string request = renewal_request(number);
    TRY(const auto taken, peer.exchange(request, http_answer));
    TRY(auto renewed, peer.exchange(request, http_answer));
    if (!renewed.starts_with(ok_prefix) || renewed.find("\"renewed\"") == std::string::npos) {
        return base::fail("no renewal: " + renewed);
    }
    return renewed;
}

}  // namespace holdfast::bench
