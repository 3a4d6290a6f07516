// Limits, each refused by its name, and what is kept of locks nobody uses.

#include <gtest/gtest.h>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

TableOptions with(const Limits& limits) {
    return {.limits = limits};
}

TEST(LockTable, RefusesMoreLocksThanItMayHold) {
    LockTable table(with({.locks_max = 2}));
    table.acquire(at(0s), ask("a", "x"));
    const Token token = table.acquire(at(0s), ask("b", "x")).lease.token;
    EXPECT_EQ(table.acquire(at(0s), ask("c", "x")).refusal, Refusal::locks_max);
    EXPECT_EQ(table.acquire(at(0s), queue(ask("a", "y"))).kind, Kind::queued);
    table.release(at(0s), {.token = token});
    EXPECT_EQ(table.acquire(at(0s), ask("c", "x")).kind, Kind::granted);
}

TEST(LockTable, RefusesMoreWaitersThanItMayHold) {
    LockTable table(with({.waiters_max = 1}));
    table.acquire(at(0s), ask("a", "x"));
    table.acquire(at(0s), ask("b", "x"));
    table.acquire(at(0s), queue(ask("a", "y")));
    EXPECT_EQ(table.acquire(at(0s), queue(ask("b", "y"))).refusal, Refusal::waiters_max);
}

TEST(LockTable, RefusesMoreWaitersThanOneLockMayHave) {
    LockTable table(with({.waiters_per_lock_max = 1}));
    table.acquire(at(0s), ask("a", "x"));
    table.acquire(at(0s), ask("b", "x"));
    table.acquire(at(0s), queue(ask("a", "y")));
    EXPECT_EQ(table.acquire(at(0s), queue(ask("a", "z"))).refusal, Refusal::waiters_per_lock_max);
    EXPECT_EQ(table.acquire(at(0s), queue(ask("b", "y"))).kind, Kind::queued);
}

TEST(LockTable, LeavesNoEntryOfARefusedEnqueue) {
    LockTable table(with({.waiters_per_lock_max = 1}));
    const SessionId session = table.open_session(at(0s), {.name = "conn"});
    const Token token = table.acquire(at(0s), ask("a", "x")).lease.token;
    const WaiterId waiter = table.acquire(at(0s), queue(ask("a", "y"))).waiter;
    const AcquireRequest request = in(session, ask("a", "conn"));
    EXPECT_EQ(table.enqueue(at(0s), request).refusal, Refusal::waiters_per_lock_max);
    EXPECT_EQ(table.wait(at(0s), session, request.scope, 1s).refusal, Refusal::not_enqueued);
    table.cancel(at(0s), waiter);
    table.release(at(0s), {.token = token});
    EXPECT_EQ(table.enqueue(at(0s), request).kind, Kind::granted);
}

TEST(LockTable, RefusesKeysAndOwnersThatAreTooLong) {
    LockTable table(with({.key_length_max = 4, .owner_length_max = 3}));
    EXPECT_EQ(table.acquire(at(0s), ask("1234", "123")).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(0s), ask("12345", "1")).refusal, Refusal::key_length_max);
    EXPECT_EQ(table.acquire(at(0s), ask(Scope::path("/2345"), "1")).refusal,
              Refusal::key_length_max);
    EXPECT_EQ(table.acquire(at(0s), ask("1", "1234")).refusal, Refusal::owner_length_max);
}

TEST(LockTable, RefusesLeasesTooShortOrTooLong) {
    LockTable table(with({.ttl_min = 1s, .ttl_max = 60s}));
    AcquireRequest request = ask("job", "a");
    for (const Duration ttl :
         {Duration{1s} - 1us, Duration{60s} + 1us, Duration{0}, Duration{-1s}}) {
        request.ttl = ttl;
        EXPECT_EQ(table.acquire(at(0s), request).refusal, Refusal::ttl_out_of_range);
    }
    request.ttl = 60s;
    const Token token = table.acquire(at(0s), request).lease.token;
    EXPECT_EQ(table.renew(at(0s), {.token = token, .ttl = 61s}).refusal, Refusal::ttl_out_of_range);
    EXPECT_EQ(table.renew(at(0s), {.token = token, .ttl = 0s}).refusal, Refusal::ttl_out_of_range);
    EXPECT_EQ(table.find(token).lease.expires_at, at(60s));
}

TEST(LockTable, RefusesNoPermitsAndTooMany) {
    LockTable table(with({.permits_max = 5}));
    AcquireRequest request = ask(Scope::semaphore("s"), "a");
    request.limit = 0;
    EXPECT_EQ(table.acquire(at(0s), request).refusal, Refusal::permits_max);
    request.limit = 6;
    EXPECT_EQ(table.acquire(at(0s), request).refusal, Refusal::permits_max);
    request.limit = 5;
    EXPECT_EQ(table.acquire(at(0s), request).kind, Kind::granted);
}

TEST(LockTable, RefusesNothingAsAKeyOrRange) {
    LockTable table;
    EXPECT_EQ(table.acquire(at(0s), ask("", "a")).refusal, Refusal::empty_key);
    EXPECT_EQ(table.acquire(at(0s), ask(Scope::path(""), "a")).refusal, Refusal::empty_key);
    EXPECT_EQ(table.acquire(at(0s), ask(Scope::of_range(7, {5, 5}), "a")).refusal,
              Refusal::empty_range);
    EXPECT_EQ(table.acquire(at(0s), ask(Scope::of_range(7, {6, 5}), "a")).refusal,
              Refusal::empty_range);
}

TEST(LockTable, KeepsNothingOfARefusedRequest) {
    LockTable table(with({.key_length_max = 4}));
    const std::uint64_t before = table.digest();
    table.acquire(at(0s), ask("too long", "a"));
    table.acquire(at(0s), ask("", "a"));
    EXPECT_EQ(table.counts().locks, 0U);
    EXPECT_TRUE(table.changes().empty());
    EXPECT_EQ(table.digest(), before);
    EXPECT_EQ(table.next_fence(), 1U);
}

TEST(LockTable, RemembersIdleLocksAsLongAsItIsTold) {
    LockTable table({.idle_retention = 60s});
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    table.release(at(10s), {.token = token});
    EXPECT_EQ(table.counts().idle, 1U);
    const auto lock = table.inspect(Scope::named("job"));
    ASSERT_TRUE(lock && lock->idle_since);
    EXPECT_EQ(*lock->idle_since, at(10s));
    EXPECT_EQ(table.next_deadline(), at(70s));
    table.advance(at(70s) - 1us);
    EXPECT_EQ(table.counts().locks, 1U);
    table.advance(at(70s));
    EXPECT_EQ(table.counts().locks, 0U);
    EXPECT_EQ(table.counts().idle, 0U);
    EXPECT_FALSE(table.next_deadline());
}

TEST(LockTable, TakesAnIdleLockIntoUseAgain) {
    LockTable table({.idle_retention = 60s});
    Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    table.release(at(10s), {.token = token});
    EXPECT_EQ(table.acquire(at(20s), ask("job", "b")).kind, Kind::granted);
    EXPECT_EQ(table.counts().idle, 0U);
    EXPECT_FALSE(table.inspect(Scope::named("job"))->idle_since);
    table.advance(at(50s));
    EXPECT_EQ(table.inspect(Scope::named("job"))->idle_since, at(50s));
    table.check_invariants();
}

TEST(LockTable, DropsTheLongestIdleLockWhenItIsFull) {
    LockTable table({.limits = {.locks_max = 2}, .idle_retention = 60s});
    for (const auto* name : {"a", "b"}) {
        const Token token = table.acquire(at(0s), ask(name, "x")).lease.token;
        table.release(at(0s), {.token = token});
    }
    EXPECT_EQ(table.acquire(at(1s), ask("c", "x")).kind, Kind::granted);
    EXPECT_FALSE(table.inspect(Scope::named("a")));
    EXPECT_TRUE(table.inspect(Scope::named("b")));
    table.check_invariants();
}

}  // namespace
}  // namespace holdfast::core
