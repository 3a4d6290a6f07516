#include "load/homelab_client.h"

#include "base/text/duration.h"
#include "net/client/url.h"

namespace holdfast::load {

std::string HomelabClient::target(const std::string& lock) const {
    return "/lock?client=" + net::percent_encode(owner_) + "&job=" + net::percent_encode(lock);
}

base::Result<void> HomelabClient::greet() {
    TRY(const auto answer, door_.ask("GET", "/lock"));
    if (answer.status != 200) return unexpected_answer(answer);
    return {};
}

base::Result<Acquisition> HomelabClient::acquire(const std::string& lock) {
    TRY(const auto answer, door_.ask("POST", target(lock) + "&ttl=" + base::format_duration(ttl_)));
    if (answer.status == 409) return Refusal{};
    if (answer.status != 200) return unexpected_answer(answer);
    return Grant{.ttl = ttl_};
}

base::Result<bool> HomelabClient::release(const std::string& lock, const Grant&) {
    TRY(const auto answer, door_.ask("DELETE", target(lock)));
    if (answer.status != 200 && answer.status != 403) return unexpected_answer(answer);
    return answer.status == 200;
}

}  // namespace holdfast::load
