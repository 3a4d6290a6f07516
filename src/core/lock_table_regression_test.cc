// One test for each way in which a trusted lock service failed its users, as far as an engine can
// fail in that way. Each is named after what happened there; the comment says where.

#include <gtest/gtest.h>

#include <vector>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

// etcd 9921, 11456: a waiter whose lease ran out while it waited was granted the lock.
TEST(LockTableRegression, GrantedAWaiterWhoseConnectionHadDied) {
    LockTable table;
    const SessionId dead = table.open_session(at(0s), {.name = "dead"});
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    table.acquire(at(1s), in(dead, queue(ask("job", "dead"))));
    table.enqueue(at(1s), in(dead, ask("job", "dead")));
    table.acquire(at(2s), queue(ask("job", "alive")));
    table.end_session(at(3s), dead);
    table.release(at(4s), {.token = token});
    EXPECT_EQ(holder(table, "job"), "alive");
    table.check_invariants();
}

// The same, when the server itself stood still past the end of the wait.
TEST(LockTableRegression, GrantedAWaiterWhoseTimeHadPassed) {
    LockTable table;
    table.acquire(at(0s), ask("job", "a"));
    table.acquire(at(1s), queue(ask("job", "impatient"), 40s));
    table.acquire(at(2s), queue(ask("job", "patient"), 120s));
    table.clear_changes();
    table.advance(at(90s));
    EXPECT_EQ(take_events(table),
              (Texts{"wait_timed_out job impatient", "expired job a", "granted job patient"}));
    EXPECT_EQ(table.inspect(Scope::named("job"))->holders[0].expires_at, at(120s));
}

// The same again: the first waiter times out and makes way for the second, whose time is over, too.
TEST(LockTableRegression, GrantedAnExpiredWaiterBehindAnExpiredWaiter) {
    for (const Scope& scope : {Scope::named("job"), Scope::of_range(7, {0, 10})}) {
        LockTable table;
        table.acquire(at(0s), shared(ask(scope, "reader")));
        table.acquire(at(1s), queue(ask(scope, "writer"), 10s));
        table.acquire(at(1s), queue(shared(ask(scope, "late")), 11s));
        table.acquire(at(1s), queue(shared(ask(scope, "patient"))));
        table.clear_changes();
        table.advance(at(12s));
        for (std::size_t i = 0; i < table.changes().size(); ++i) {
            const Event event = table.changes()[i];
            EXPECT_EQ(event.kind == EventKind::granted, event.lease.owner.name == "patient");
        }
        EXPECT_EQ(table.changes().size(), 3U);
        table.check_invariants();
    }
}

// etcd 15247: an old leader ended live leases, because it knew only an old deadline.
TEST(LockTableRegression, ExpiredALeaseThatHadBeenRenewed) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    for (int i = 1; i <= 100; ++i) {
        table.renew(at(i * 20s), {.token = token});
        // The moment at which each earlier end would have come.
        table.advance(at(i * 20s + 10s));
        ASSERT_EQ(table.find(token).kind, Kind::found);
    }
    table.advance(at(2030s) - 1us);
    EXPECT_EQ(table.find(token).kind, Kind::found);
    table.advance(at(2030s));
    EXPECT_EQ(table.find(token).refusal, Refusal::lease_ended);
}

// etcd 20615: a renewal succeeded after the lease had been revoked.
TEST(LockTableRegression, RenewedALeaseAfterItsEnd) {
    LockTable table;
    const auto lease_ended_by = [&table](const auto& end) {
        const Token token = table.acquire(table.now(), ask("job", "a")).lease.token;
        end(token);
        EXPECT_EQ(table.renew(table.now(), {.token = token}).refusal, Refusal::lease_ended);
        table.force_release(table.now(), Scope::named("job"));
    };
    lease_ended_by([&](Token token) { table.release(table.now(), {.token = token}); });
    lease_ended_by([&](Token) { table.force_release(table.now(), Scope::named("job")); });
    lease_ended_by([&](Token) { table.advance(table.now() + 30s); });

    // Nor in grace, nor when the same owner has the lock again.
    AcquireRequest request = ask("job", "a");
    request.grace = 5s;
    const Time start = table.now();
    const Token old = table.acquire(start, request).lease.token;
    EXPECT_EQ(table.renew(start + 30s, {.token = old}).refusal, Refusal::lease_ended);
    EXPECT_EQ(table.acquire(start + 31s, request).kind, Kind::granted);
    EXPECT_EQ(table.renew(start + 31s, {.token = old}).refusal, Refusal::lease_ended);
    EXPECT_EQ(table.release(start + 31s, {.token = old}).refusal, Refusal::lease_ended);
}

// etcd 13336: the queue wedged after many waits had been given up.
TEST(LockTableRegression, WedgedAfterManyAbortedWaits) {
    LockTable table;
    Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    std::vector<WaiterId> waiters;
    for (int i = 0; i < 3000; ++i) {
        const Duration wait = i % 3 == 0 ? Duration{1s} : wait_forever;
        waiters.push_back(table.acquire(at(0s), queue(ask("job", "aborted"), wait)).waiter);
    }
    table.acquire(at(0s), queue(ask("job", "last")));
    for (std::size_t i = 0; i < waiters.size(); i += 3) table.cancel(at(0s), waiters[i]);
    for (std::size_t i = waiters.size() - 2; i > 2; i -= 3) table.cancel(at(0s), waiters[i]);
    table.advance(at(1s));
    for (const WaiterId waiter : waiters) table.cancel(at(1s), waiter);
    EXPECT_EQ(table.counts().waiters, 1U);
    table.release(at(2s), {.token = token});
    EXPECT_EQ(holder(table, "job"), "last");
    table.check_invariants();
}

// redisson 1763: a wake-up was lost between subscribing and unlocking.
TEST(LockTableRegression, LostTheWakeUpOfOneWhoQueuedAsTheLockCameFree) {
    // The lease ends at the moment when the waiter comes: in both orders, and in every way to end.
    for (const bool waiter_first : {true, false}) {
        for (const int way : {0, 1, 2}) {
            LockTable table;
            const SessionId session = table.open_session(at(0s), {.name = "a"});
            const Token token = table.acquire(at(0s), in(session, ask("job", "a"))).lease.token;
            const auto come = [&] { table.acquire(at(30s), queue(ask("job", "b"))); };
            if (waiter_first && way != 2) table.renew(at(1s), {.token = token, .ttl = 60s});
            if (waiter_first) come();
            if (way == 0) table.release(at(30s), {.token = token});
            if (way == 1) table.end_session(at(30s), session);
            if (way == 2) table.advance(at(30s));
            if (!waiter_first) come();
            EXPECT_EQ(holder(table, "job"), "b") << waiter_first << way;
            table.check_invariants();
        }
    }
}

// kubernetes 47671: a candidate with a shorter lease judged the lease of the holder by its own TTL,
// and stole it.
TEST(LockTableRegression, LetAShorterLeaseSteal) {
    LockTable table;
    AcquireRequest lengthy = ask("job", "long");
    lengthy.ttl = 60s;
    table.acquire(at(0s), lengthy);
    AcquireRequest brief = ask("job", "short");
    brief.ttl = 1s;
    brief.renew_own = true;
    for (int second = 1; second < 60; ++second) {
        ASSERT_EQ(table.acquire(at(second * 1s), brief).refusal, Refusal::held);
    }
    EXPECT_EQ(table.acquire(at(60s), brief).kind, Kind::granted);
}

// nacos 15280: a waiter that was not at the head of the queue won.
TEST(LockTableRegression, GrantedAWaiterThatWasNotTheHead) {
    LockTable table;
    Token token = table.acquire(at(0s), ask("job", "first")).lease.token;
    const std::vector<std::string> order = {"a", "b", "c", "d", "e", "f"};
    for (const auto& owner : order) table.acquire(at(0s), queue(ask("job", owner)));
    for (const auto& owner : order) {
        table.acquire(at(1s), ask("job", "barger"));
        table.release(at(1s), {.token = token});
        ASSERT_EQ(holder(table, "job"), owner);
        token = table.inspect(Scope::named("job"))->holders[0].token;
    }
}

// dflockd 1.16.1: a caller that had cancelled was handed the token.
TEST(LockTableRegression, HandedATokenToACancelledCaller) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    const WaiterId waiter = table.acquire(at(0s), queue(ask("job", "cancelled"))).waiter;
    EXPECT_TRUE(table.cancel(at(1s), waiter));
    table.clear_changes();
    table.release(at(1s), {.token = token});
    EXPECT_EQ(take_events(table), (Texts{"released job a"}));
    EXPECT_EQ(table.counts().locks, 0U);
}

// The other order: a waiter that was granted before its cancel is told so, and its lease stays.
TEST(LockTableRegression, LostALeaseThatWasGrantedJustBeforeTheCancel) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    const WaiterId waiter = table.acquire(at(0s), queue(ask("job", "b"))).waiter;
    table.release(at(1s), {.token = token});
    EXPECT_FALSE(table.cancel(at(1s), waiter));
    EXPECT_EQ(holder(table, "job"), "b");
}

// Jepsen on etcd 3.4.3: with leases of two seconds and pauses, 18 % of acknowledged updates were
// lost, because a holder went on after its lease had ended. The engine's part: a later holder has a
// larger fencing number.
TEST(LockTableRegression, LetAPausedHolderGoOnUnnoticed) {
    LockTable table;
    AcquireRequest request = ask("job", "paused");
    request.ttl = 2s;
    const Token old = table.acquire(at(0s), request).lease.token;
    request.owner.name = "other";
    const Token young = table.acquire(at(2s), request).lease.token;
    EXPECT_GT(young.fence, old.fence);
    EXPECT_EQ(table.find(old).refusal, Refusal::lease_ended);
    EXPECT_EQ(table.find(young).kind, Kind::found);
}

// Known from many services: memory must not grow with names that come and go.
TEST(LockTableRegression, KeptNamesThatHadGone) {
    LockTable table;
    for (int i = 0; i < 20'000; ++i) {
        const std::string name = "job-" + std::to_string(i);
        const Token token = table.acquire(at(0s), ask(name, "a")).lease.token;
        table.acquire(at(0s), queue(ask(name, "b"), 1s));
        table.release(at(0s), {.token = token});
        table.clear_changes();
    }
    EXPECT_EQ(table.counts().locks, 20'000U);
    advance_fully(table, at(30s));
    EXPECT_EQ(table.counts().locks, 0U);
    EXPECT_EQ(table.counts().waiters, 0U);
    EXPECT_FALSE(table.next_deadline());
}

}  // namespace
}  // namespace holdfast::core
