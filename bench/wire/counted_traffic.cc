#include "wire/counted_traffic.h"

#include <memory>

#include "wire/homelab_traffic.h"
#include "wire/lock_traffic.h"

namespace holdfast::bench {

namespace {

constexpr std::size_t in_flight = 16;  // where requests are pipelined

base::Result<void> expect_prefix(const std::vector<std::string>& answers, std::string_view prefix) {
    for (const std::string& answer : answers) {
        if (!answer.starts_with(prefix)) return base::fail("an unexpected answer: " + answer);
    }
    return {};
}

std::string repeat(const std::string& text, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += text;
    return all;
}

base::Result<Step> prepare_renewals(Peer& peer, std::size_t count) {
    TRY(take_and_renew(peer, 0));
    return [text = repeat(renewal_request(0), count), count](Peer& p) -> base::Result<void> {
        TRY(const auto answers, p.exchange_all(text, count, http_answer));
        return expect_prefix(answers, ok_prefix);
    };
}

base::Result<Step> prepare_pairs(Peer& /*peer*/) {
    return [requests = take_and_give_back(0)](Peer& p) -> base::Result<void> {
        for (const std::string& request : requests) {
            TRY(const auto answer, p.exchange(request, http_answer));
            TRY(expect_prefix({answer}, ok_prefix));
        }
        return {};
    };
}

// So many locks are taken, then given back with the tokens that the server has given.
base::Result<Step> prepare_dflockd(Peer& /*peer*/, std::size_t count) {
    auto requests = dflockd_requests({.pipeline = count});
    return [requests = std::move(requests), count](Peer& p) mutable -> base::Result<void> {
        const Carry carry = dflockd_carry();
        std::string takes;
        std::string returns;
        for (std::size_t slot = 0; slot < count; ++slot) takes += requests[slot];
        TRY(const auto granted, p.exchange_all(takes, count, line_answer));
        TRY(expect_prefix(granted, "ok "));
        for (std::size_t slot = 0; slot < count; ++slot) {
            const auto token = granted[slot].substr(carry.answer_offset, carry.bytes);
            returns += requests[count + slot].replace(carry.request_offset, carry.bytes, token);
        }
        TRY(const auto released, p.exchange_all(returns, count, line_answer));
        return expect_prefix(released, "ok\n");
    };
}

base::Result<Step> prepare_redis(Peer& peer) {
    TRY(auto requests, redis_requests(peer, {}));
    return [requests = std::move(requests)](Peer& p) -> base::Result<void> {
        TRY(const auto taken, p.exchange(requests[0], line_answer));
        TRY(expect_prefix({taken}, "+OK"));
        TRY(const auto released, p.exchange(requests[1], line_answer));
        return expect_prefix({released}, ":1");
    };
}

std::vector<CountedKind> make_kinds() {
    const auto renewals = [](std::size_t count) {
        return [count](Peer& peer) { return prepare_renewals(peer, count); };
    };
    const auto dflockd = [](std::size_t count) {
        return [count](Peer& peer) { return prepare_dflockd(peer, count); };
    };
    return {
        {.name = "renewal", .unit = "POST /lock renewal", .door = "http", .prepare = renewals(1)},
        {.name = "pair",
         .unit = "POST + DELETE /lock pair",
         .door = "http",
         .prepare = prepare_pairs},
        {.name = "pipelined",
         .unit = "pipelined POST /lock renewal",
         .door = "http",
         .units_per_step = in_flight,
         .prepare = renewals(in_flight)},
        {.name = "dflockd-pipelined",
         .unit = "pipelined dflockd request",
         .door = "dflockd",
         .units_per_step = 2 * in_flight,
         .prepare = dflockd(in_flight)},
        {.name = "dflockd",
         .unit = "dflockd request, one at a time",
         .door = "dflockd",
         .units_per_step = 2,
         .prepare = dflockd(1)},
        {.name = "redis",
         .unit = "Redis SET NX + release script pair",
         .door = "redis",
         .prepare = prepare_redis},
        {.name = "durable",
         .unit = "durable POST + DELETE /lock pair",
         .door = "http",
         .is_durable = true,
         .prepare = prepare_pairs},
        {.name = "dflockd-durable",
         .unit = "durable pipelined dflockd request",
         .door = "dflockd",
         .is_durable = true,
         .units_per_step = 2 * in_flight,
         .prepare = dflockd(in_flight)},
        {.name = "threads",
         .unit = "pipelined POST /lock renewal, 2 threads",
         .door = "http",
         .flags = {"--threads", "2"},
         .units_per_step = in_flight,
         .prepare = renewals(in_flight)},
    };
}

}  // namespace

const std::vector<CountedKind>& counted_kinds() {
    static const std::vector<CountedKind> kinds = make_kinds();
    return kinds;
}

}  // namespace holdfast::bench
