#include "load/dflockd_client.h"

#include <charconv>

namespace holdfast::load {

namespace {

// The first half of a token of 32 hexadecimal digits; 0, which no grant has, if it is none.
std::uint64_t fencing_number_of(std::string_view token) {
    constexpr std::size_t digits = 16;
    if (token.size() != 2 * digits) return 0;
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(token.data(), token.data() + digits, number, 16);
    return parsed.ptr == token.data() + digits ? number : 0;
}

}  // namespace

base::Result<void> DflockdClient::connect() {
    TRY(line_.connect());
    if (token_.empty()) return {};
    TRY(const std::string answer, line_.exchange("auth\n_\n" + token_ + "\n"));
    if (answer == "ok") return {};
    line_.close();
    return base::fail("the server does not take the token: " + answer);
}

base::Result<std::string> DflockdClient::ask(const Request& request) {
    if (!line_.is_connected()) TRY(connect());
    return line_.exchange(request.command + "\n" + request.key + "\n" + request.argument + "\n");
}

// Whatever is said to this: somebody is there, and does not ask for a token.
base::Result<void> DflockdClient::greet() {
    TRY(const std::string answer, ask({.command = "ping", .key = "_"}));
    if (answer == "error_auth") return base::fail("the server wants a token");
    return {};
}

base::Result<Acquisition> DflockdClient::acquire(const std::string& lock) {
    TRY(const std::string answer,
        ask({.command = "l", .key = lock, .argument = "0 " + std::to_string(ttl_.count())}));
    if (answer == "timeout") return Refusal{};
    const std::string_view rest = std::string_view(answer).substr(0, answer.rfind(' '));
    const std::string token(rest.substr(rest.find(' ') + 1));
    const std::uint64_t number = fencing_number_of(token);
    if (!answer.starts_with("ok ") || number == 0) {
        return base::fail("the server answered " + answer);
    }
    return Grant{.lease = token, .fencing_number = number, .ttl = ttl_};
}

base::Result<bool> DflockdClient::release(const std::string& lock, const Grant& grant) {
    TRY(const std::string answer, ask({.command = "r", .key = lock, .argument = grant.lease}));
    if (answer != "ok" && answer != "error") return base::fail("the server answered " + answer);
    return answer == "ok";
}

}  // namespace holdfast::load
