#include "load/lockserver_client.h"

#include "base/json/json_writer.h"
#include "net/client/url.h"

namespace holdfast::load {

base::Result<void> LockserverClient::greet() {
    TRY(const auto answer, door_.ask("GET", "/v1/locks/hello"));
    if (answer.status != 200) return unexpected_answer(answer);
    return {};
}

base::Result<Acquisition> LockserverClient::acquire(const std::string& lock) {
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .field("owner_id", owner_)
        .field("ttl_ms", ttl_.count())
        .end_object();
    TRY(const auto answer,
        door_.ask("POST", "/v1/locks/" + net::percent_encode(lock) + "/acquire", body));
    if (answer.status == 409) {
        const auto retry_ms = answer.body["recommended_retry_ms"].natural();
        if (!retry_ms) return Refusal{};
        return Refusal{.retry_after = std::chrono::milliseconds(*retry_ms)};
    }
    const std::uint64_t number = answer.body["fencing_token"].natural().value_or(0);
    if (answer.status != 200 || !answer.body["acquired"].is_true() || number == 0) {
        return unexpected_answer(answer);
    }
    return Grant{.lease = std::string(answer.body["lease_id"].text()),
                 .fencing_number = number,
                 .ttl = ttl_};
}

base::Result<bool> LockserverClient::release(const std::string& lock, const Grant& grant) {
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .field("owner_id", owner_)
        .field("lease_id", grant.lease)
        .field("fencing_token", grant.fencing_number)
        .end_object();
    TRY(const auto answer,
        door_.ask("POST", "/v1/locks/" + net::percent_encode(lock) + "/release", body));
    if (answer.status != 200) return unexpected_answer(answer);
    return answer.body["released"].is_true();
}

}  // namespace holdfast::load
