#include "sdk/lease_calls.h"

#include <algorithm>
#include <utility>

#include "base/json/json_writer.h"
#include "net/client/url.h"
#include "sdk/acquisition.h"
#include "sdk/lease_json.h"

namespace holdfast::sdk {

namespace {

using std::chrono::milliseconds;

constexpr int leases_per_page = 1000;

std::string lease_target(std::string_view token) {
    return "/v1/leases/" + net::percent_encode(token);
}

std::string fence_target(std::string_view resource) {
    return "/v1/fence/" + net::percent_encode(resource);
}

LockError nonsense() {
    return ServerUnavailable{.message = "the answer makes no sense"};
}

NoAnswer final(LockError error) {
    return {.error = std::move(error), .is_final = true};
}

milliseconds time_until(BootClock::time_point time) {
    return std::chrono::ceil<milliseconds>(time - BootClock::now());
}

}  // namespace

std::string lock_target(const LockScope& scope) {
    if (const auto* const named = std::get_if<LockScope::Named>(&scope.value())) {
        return "/v1/locks/" + net::percent_encode(named->name);
    }
    const std::string text = scope.to_text();
    const std::size_t colon = text.find(':');
    return "/v1/locks/" + net::percent_encode(std::string_view(text).substr(colon + 1)) +
           "?kind=" + text.substr(0, colon);
}

LeaseCalls::LeaseCalls(Exchange& exchange) : exchange_(exchange), holder_(make_holder()) {}

LockResult<Lease> LeaseCalls::acquire(LeaseRequest request, milliseconds wait,
                                      const std::stop_token& stop) {
    if (request.holder.empty()) request.holder = holder_;
    if (request.waiter.empty()) request.waiter = values::waiter_of_this_thread();
    if (auto fault = find_fault(request)) return *std::move(fault);
    return Acquisition(exchange_, *this, request, stop).run(wait);
}

LockResult<Lease> LeaseCalls::renew(const Lease& lease, milliseconds ttl,
                                    const std::stop_token& stop) {
    const ClientOptions& options = exchange_.options();
    Patience patience(options.retry_for);
    while (true) {
        auto renewed = renew_once(lease, {.ttl = ttl, .timeout = options.timeout, .stop = stop});
        if (renewed) return *std::move(renewed);
        if (renewed.error().is_final || !patience.pause(stop)) {
            if (stop.stop_requested()) return LockError{LockCancelled{}};
            return std::move(renewed).error().error;
        }
    }
}

Answered<Lease> LeaseCalls::renew_once(const Lease& lease, const Renewal& renewal) {
    std::string body;
    base::JsonWriter json(body);
    json.begin_object();
    // A client that knows the token only does not know the ttl; the server does.
    if (renewal.ttl > milliseconds{0}) json.field("ttl_ms", renewal.ttl.count());
    json.end_object();
    const auto sent_at = BootClock::now();
    TRY(const Answer answer, exchange_.ask_once({.method = "POST",
                                                 .target = lease_target(lease.token) + "/renew",
                                                 .body = body,
                                                 .timeout = renewal.timeout,
                                                 .stop = renewal.stop}));
    if (answer.status != 200) return tl::unexpected(final(answer.to_error()));
    auto renewed = read_lease(answer.json);
    if (!renewed) {
        return tl::unexpected(final(ServerUnavailable{.message = "the answer is no lease"}));
    }
    renewed->limit = lease.limit;
    renewed->lasts_until = sent_at + renewed->ttl;
    return *std::move(renewed);
}

// Twice the same value has the effect of one.
LockResult<Lease> LeaseCalls::set_value(const Lease& lease, std::string_view value) {
    if (auto fault = find_fault(value)) return *std::move(fault);
    std::string body;
    base::JsonWriter(body).begin_object().field("value", value).end_object();
    const auto answer = ask("PUT", lease_target(lease.token) + "/value", std::move(body));
    if (!answer) return answer.error().error;
    if (answer->status != 200) return answer->to_error();
    auto changed = read_lease(answer->json);
    if (!changed) return LockError{ServerUnavailable{.message = "the answer is no lease"}};
    changed->limit = lease.limit;
    changed->lasts_until = lease.lasts_until;
    return *std::move(changed);
}

LockResult<void> LeaseCalls::release(const Lease& lease) {
    return release(lease, exchange_.options().retry_for);
}

void LeaseCalls::release_briefly(const Lease& lease) {
    (void)release(lease, milliseconds{0});
}

LockResult<void> LeaseCalls::release(const Lease& lease, milliseconds retry_for) {
    constexpr milliseconds timeout_min{1'000};  // the lease may last longer than we can be sure of
    Patience patience(std::clamp(time_until(lease.lasts_until), milliseconds{0}, retry_for));
    bool may_be_done = false;
    while (true) {
        const milliseconds left = std::max(time_until(lease.lasts_until), timeout_min);
        const auto answer =
            exchange_.ask_once({.method = "DELETE",
                                .target = lease_target(lease.token),
                                .timeout = std::min(exchange_.options().timeout, left)});
        if (!answer) {
            may_be_done = may_be_done || answer.error().may_have_effect;
            if (answer.error().is_final || !patience.pause({})) return answer.error().error;
            continue;
        }
        may_be_done = may_be_done || answer->is_repeated;
        const bool is_over = answer->status == 404 || answer->status == 410;
        if (answer->status == 200 || (is_over && may_be_done)) return {};
        return answer->to_error();
    }
}

Answered<Answer> LeaseCalls::ask(std::string method, std::string target, std::string body) {
    const ClientOptions& options = exchange_.options();
    return exchange_.ask({.method = std::move(method),
                          .target = std::move(target),
                          .body = std::move(body),
                          .timeout = options.timeout},
                         Patience(options.retry_for));
}

LockResult<Lease> LeaseCalls::find(std::string_view token) {
    const auto answer = ask("GET", lease_target(token));
    if (!answer) return answer.error().error;
    if (answer->status != 200) return answer->to_error();
    auto lease = read_lease(answer->json);
    if (!lease) return LockError{ServerUnavailable{.message = "the answer is no lease"}};
    return *std::move(lease);
}

LockResult<std::vector<Lease>> LeaseCalls::list() {
    std::vector<Lease> leases;
    std::string after;
    while (true) {
        const std::string target = "/v1/leases?limit=" + std::to_string(leases_per_page);
        const auto answer = ask("GET", after.empty() ? target : target + "&after=" + after);
        if (!answer) return answer.error().error;
        if (answer->status != 200) return answer->to_error();
        for (const base::JsonValue& one : answer->json["leases"].items()) {
            auto lease = read_listed_lease(one);
            if (!lease) return nonsense();
            leases.push_back(*std::move(lease));
        }
        std::string next(answer->json["next"].text());
        if (next.empty()) return leases;
        if (next == after) return nonsense();  // the listing would never end
        after = std::move(next);
    }
}

LockResult<std::uint64_t> LeaseCalls::pass_fence(std::string_view resource,
                                                 std::uint64_t fencing_token) {
    std::string body;
    base::JsonWriter(body).begin_object().field("fencing_token", fencing_token).end_object();
    const auto answer = ask("POST", fence_target(resource), std::move(body));
    if (!answer) return answer.error().error;
    if (answer->status != 200) return answer->to_error();
    const auto highest = answer->json["highest"].natural();
    if (!highest) return nonsense();
    return *highest;
}

LockResult<std::optional<std::uint64_t>> LeaseCalls::get_fence(std::string_view resource) {
    return ask_fence("GET", resource);
}

LockResult<std::optional<std::uint64_t>> LeaseCalls::drop_fence(std::string_view resource) {
    return ask_fence("DELETE", resource);
}

LockResult<std::optional<std::uint64_t>> LeaseCalls::ask_fence(const char* method,
                                                               std::string_view resource) {
    const auto answer = ask(method, fence_target(resource));
    if (!answer) return answer.error().error;
    if (answer->reason() == "FenceNotFound") return std::optional<std::uint64_t>();
    if (answer->status != 200) return answer->to_error();
    const auto highest = answer->json["highest"].natural();
    if (!highest) return nonsense();
    return highest;
}

// Sent once: the lock may have another holder when it is sent again.
LockResult<std::uint64_t> LeaseCalls::force_release(const LockScope& scope) {
    const ClientOptions& options = exchange_.options();
    const auto answer = exchange_.ask({.method = "DELETE",
                                       .target = lock_target(scope),
                                       .timeout = options.timeout,
                                       .is_repeatable = false},
                                      Patience(options.retry_for));
    if (!answer) return answer.error().error;
    if (answer->status != 200) return answer->to_error();
    const auto holders = answer->json["holders"].natural();
    if (!holders) return nonsense();
    return *holders;
}

LockResult<Lease> LeaseCalls::check(std::string_view token, const LockScope& scope, LockMode mode) {
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .field("token", token)
        .field("scope", scope.to_text())
        .end_object();
    const auto answer = ask("POST", "/v1/fence/check", std::move(body));
    if (!answer) return answer.error().error;
    if (answer->reason() == "LockScopeMismatch") {
        auto held = read_scope(answer->json["scope"]);
        if (!held) return nonsense();
        return LockError{
            LockScopeMismatch{.held = *std::move(held), .wanted = scope, .wanted_mode = mode}};
    }
    if (answer->status != 200) return answer->to_error();
    auto lease = read_lease(answer->json);
    if (!lease) return nonsense();
    if (!lease->covers(scope, mode)) {
        return LockError{LockScopeMismatch{
            .held = lease->scope, .held_mode = lease->mode, .wanted = scope, .wanted_mode = mode}};
    }
    return *std::move(lease);
}

}  // namespace holdfast::sdk
