#include "doors/dflockd/dflockd_answer.h"

#include <gtest/gtest.h>

#include <string>

#include "service/doors.h"

namespace holdfast::doors::dflockd {
namespace {

using namespace std::chrono_literals;
using core::Outcome;
using core::Refusal;

core::LeaseView lease_of(core::Duration ttl) {
    return {.owner = {.door = service::dflockd_door, .name = "conn-7"},
            .token = {.fence = core::Fence{0x1a3}, .secret = core::Secret{0xff}},
            .expires_at = core::Time{10s} + ttl,
            .ttl = ttl,
            .session = {.serial = 1}};
}

std::string answer(Verb verb, const Outcome& outcome) {
    std::string out;
    append_answer(out, verb, {.now = core::Time{10s}, .outcome = outcome});
    return out;
}

TEST(DflockdAnswer, ToAGrant) {
    const Outcome granted{.kind = Outcome::Kind::granted, .lease = lease_of(33s)};
    EXPECT_EQ(answer(Verb::lock, granted), "ok 00000000000001a300000000000000ff 33\n");
    EXPECT_EQ(answer(Verb::wait, granted), "ok 00000000000001a300000000000000ff 33\n");
    EXPECT_EQ(answer(Verb::enqueue, granted), "acquired 00000000000001a300000000000000ff 33\n");
}

TEST(DflockdAnswer, DoesNotPromiseAPartOfASecond) {
    EXPECT_EQ(answer(Verb::lock, {.kind = Outcome::Kind::granted, .lease = lease_of(1999ms)}),
              "ok 00000000000001a300000000000000ff 1\n");
    EXPECT_EQ(answer(Verb::lock, {.kind = Outcome::Kind::granted, .lease = lease_of(500ms)}),
              "ok 00000000000001a300000000000000ff 1\n");
    EXPECT_EQ(answer(Verb::renew, {.kind = Outcome::Kind::renewed, .lease = lease_of(1999ms)}),
              "ok 1\n");
}

TEST(DflockdAnswer, ToTheRest) {
    EXPECT_EQ(answer(Verb::renew, {.kind = Outcome::Kind::renewed, .lease = lease_of(60s)}),
              "ok 60\n");
    EXPECT_EQ(answer(Verb::release, {.kind = Outcome::Kind::released}), "ok\n");
    EXPECT_EQ(answer(Verb::enqueue, {.kind = Outcome::Kind::queued}), "queued\n");
    struct Row {
        Verb verb;
        Refusal refusal;
        std::string line;
    };
    const Row rows[] = {
        {Verb::lock, Refusal::held, "timeout"},
        {Verb::lock, Refusal::in_grace, "timeout"},
        {Verb::lock, Refusal::timed_out, "timeout"},
        {Verb::wait, Refusal::timed_out, "timeout"},
        {Verb::lock, Refusal::locks_max, "error_max_locks"},
        {Verb::enqueue, Refusal::leases_max, "error_max_locks"},
        {Verb::lock, Refusal::waiters_max, "error_max_waiters"},
        {Verb::enqueue, Refusal::waiters_per_lock_max, "error_max_waiters"},
        {Verb::lock, Refusal::limit_mismatch, "error_limit_mismatch"},
        {Verb::enqueue, Refusal::already_enqueued, "error_already_enqueued"},
        {Verb::wait, Refusal::not_enqueued, "error_not_enqueued"},
        {Verb::wait, Refusal::lease_ended, "error_lease_expired"},
        {Verb::release, Refusal::lease_ended, "error"},
        {Verb::renew, Refusal::lease_ended, "error"},
        {Verb::release, Refusal::unknown_lease, "error"},
        {Verb::lock, Refusal::ttl_out_of_range, "error"},
        {Verb::lock, Refusal::permits_max, "error"},
        {Verb::lock, Refusal::unknown_session, "error"},
    };
    for (const Row& row : rows) {
        EXPECT_EQ(answer(row.verb, Outcome::refuse(row.refusal)), row.line + "\n");
    }
}

TEST(DflockdAnswer, ToATryWhenTheQueueIsFull) {
    for (const Refusal refusal : {Refusal::held, Refusal::in_grace}) {
        Outcome held = Outcome::refuse(refusal);
        EXPECT_EQ(answer(Verb::lock, held), "timeout\n");
        held.is_queue_full = true;
        EXPECT_EQ(answer(Verb::lock, held), "error_max_waiters\n");
    }
    Outcome ended = Outcome::refuse(Refusal::timed_out);
    ended.is_queue_full = true;
    EXPECT_EQ(answer(Verb::lock, ended), "timeout\n") << "it has waited";
}

TEST(DflockdAnswer, SaysErrorWhenTheStoreFailed) {
    std::string out;
    const Outcome granted{.kind = Outcome::Kind::granted, .lease = lease_of(33s)};
    append_answer(out, Verb::lock, {.outcome = granted, .failure = "disk full"});
    append_stats(out, 1, {.failure = "disk full"});
    EXPECT_EQ(out, "error\nerror\n");
}

TEST(DflockdAnswer, ToStats) {
    const auto details = std::make_shared<service::Details>();
    const service::Response response{.now = core::Time{10s}, .details = details};
    core::LeaseView elsewhere = lease_of(20s);
    elsewhere.owner = {.door = service::homelab_door, .name = "conn-9"};
    details->locks = {
        {.scope = core::Scope::named("a\"b"),
         .holders = {lease_of(2500ms)},
         .holder_count = 1,
         .waiter_count = 3},
        {.scope = core::Scope::named("c"), .holders = {elsewhere}, .holder_count = 1},
        {.scope = core::Scope::named("idle"), .idle_since = core::Time{4s}},
        {.scope = core::Scope::semaphore("s"),
         .limit = 200'000,
         .holders = {lease_of(1s)},  // the others are only counted
         .holder_count = 100'000,
         .waiter_count = 1},
        {.scope = core::Scope::semaphore("t"), .limit = 5, .idle_since = core::Time{9500ms}},
        {.scope = core::Scope::path("/p"), .holders = {lease_of(1s)}, .holder_count = 1},
    };
    std::string out;
    append_stats(out, 2, response);
    EXPECT_EQ(out, R"(ok {"connections":2,"locks":[)"
                   R"({"key":"a\"b","owner_conn_id":7,"lease_expires_in_s":2.5,"waiters":3},)"
                   R"({"key":"c","owner_conn_id":0,"lease_expires_in_s":20,"waiters":0}],)"
                   R"("semaphores":[{"key":"s","limit":200000,"holders":100000,"waiters":1}],)"
                   R"("idle_locks":[{"key":"idle","idle_s":6}],)"
                   R"("idle_semaphores":[{"key":"t","idle_s":0.5}]})"
                   "\n");
    out.clear();
    append_stats(out, 1, {});
    EXPECT_EQ(out, R"(ok {"connections":1,"locks":[],"semaphores":[],"idle_locks":[],)"
                   R"("idle_semaphores":[]})"
                   "\n");
}

TEST(DflockdAnswer, ToStatsShowsALimitedNumberOfLocksAndSaysSo) {
    const auto details = std::make_shared<service::Details>();
    const service::Response response{.details = details};
    details->locks.assign(stats_locks_max, {.scope = core::Scope::named("k"), .waiter_count = 1});
    std::string out;
    append_stats(out, 1, response);
    EXPECT_TRUE(out.ends_with("\"idle_semaphores\":[]}\n"));
    details->locks.push_back({.scope = core::Scope::named("one_more"), .waiter_count = 1});
    out.clear();
    append_stats(out, 1, response);
    EXPECT_TRUE(out.ends_with("\"idle_semaphores\":[],\"truncated\":true}\n"));
    EXPECT_EQ(out.find("one_more"), std::string::npos);
}

TEST(DflockdAnswer, ToStatsIsOfLimitedLength) {
    const std::string key(500, 'k');
    const auto details = std::make_shared<service::Details>();
    const service::Response response{.details = details};
    details->locks.assign(stats_locks_max, {.scope = core::Scope::named(key), .waiter_count = 1});
    std::string out = "ok\n";
    append_stats(out, 1, response);
    EXPECT_GT(out.size(), stats_bytes_max);
    EXPECT_LT(out.size(), stats_bytes_max + 1000);
    EXPECT_TRUE(
        out.ends_with("\"waiters\":1}],\"semaphores\":[],\"idle_locks\":[],"
                      "\"idle_semaphores\":[],\"truncated\":true}\n"));
}

}  // namespace
}  // namespace holdfast::doors::dflockd
