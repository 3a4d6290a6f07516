#include "sdk/fences.h"

#include <string>
#include <utility>

#include "base/json/json_writer.h"
#include "net/client/url.h"
#include "sdk/lease_json.h"

namespace holdfast::sdk {

namespace {

Answered<Answer> ask(Exchange& exchange, std::string method, std::string target,
                     std::string body = "") {
    const ClientOptions& options = exchange.options();
    return exchange.ask({.method = std::move(method),
                         .target = std::move(target),
                         .body = std::move(body),
                         .timeout = options.timeout},
                        Patience(options.retry_for));
}

std::string target_of(std::string_view resource) {
    return "/v1/fence/" + net::percent_encode(resource);
}

LockError no_sense() {
    return ServerUnavailable{.message = "the answer makes no sense"};
}

}  // namespace

LockResult<std::uint64_t> pass_fence(Exchange& exchange, std::string_view resource,
                                     std::uint64_t fencing_token) {
    std::string body;
    base::JsonWriter(body).begin_object().field("fencing_token", fencing_token).end_object();
    const auto answer = ask(exchange, "POST", target_of(resource), std::move(body));
    if (!answer) return answer.error().error;
    if (answer->status != 200) return answer->to_error();
    const auto highest = answer->body["highest"].natural();
    if (!highest) return no_sense();
    return *highest;
}

LockResult<std::optional<std::uint64_t>> get_fence(Exchange& exchange, std::string_view resource) {
    const auto answer = ask(exchange, "GET", target_of(resource));
    if (!answer) return answer.error().error;
    if (answer->reason() == "FenceNotFound") return std::optional<std::uint64_t>();
    if (answer->status != 200) return answer->to_error();
    const auto highest = answer->body["highest"].natural();
    if (!highest) return no_sense();
    return highest;
}

LockResult<Lease> check(Exchange& exchange, std::string_view token, const LockScope& scope,
                        LockMode mode) {
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .field("token", token)
        .field("scope", scope.to_text())
        .end_object();
    const auto answer = ask(exchange, "POST", "/v1/fence/check", std::move(body));
    if (!answer) return answer.error().error;
    if (answer->reason() == "LockScopeMismatch") {
        auto held = read_scope(answer->body["scope"]);
        if (!held) return no_sense();
        return LockError{
            LockScopeMismatch{.held = *std::move(held), .wanted = scope, .wanted_mode = mode}};
    }
    if (answer->status != 200) return answer->to_error();
    auto lease = read_lease(answer->body);
    if (!lease) return no_sense();
    if (mode == LockMode::exclusive && lease->mode == LockMode::shared) {
        return LockError{LockScopeMismatch{
            .held = lease->scope, .held_mode = lease->mode, .wanted = scope, .wanted_mode = mode}};
    }
    return *std::move(lease);
}

}  // namespace holdfast::sdk
