// Queues: who waits, who is next, and two-phase waits.

#include <gtest/gtest.h>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

TEST(LockTable, QueuesInTheOrderOfArrival) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    const Outcome b = table.acquire(at(1s), queue(ask("job", "b")));
    const Outcome c = table.acquire(at(2s), queue(ask("job", "c")));
    EXPECT_EQ(b.kind, Kind::queued);
    EXPECT_EQ(b.position, 1U);
    EXPECT_EQ(c.position, 2U);
    EXPECT_TRUE(b.waiter);
    EXPECT_NE(b.waiter, c.waiter);
    table.release(at(3s), {.token = token});
    EXPECT_EQ(holder(table, "job"), "b");
    table.check_invariants();
}

TEST(LockTable, GrantsTheNextInTheQueueWhenALeaseEnds) {
    LockTable table;
    table.acquire(at(0s), ask("job", "a"));
    table.acquire(at(1s), queue(ask("job", "b")));
    table.acquire(at(1s), queue(ask("job", "c")));
    table.advance(at(30s));
    EXPECT_EQ(holder(table, "job"), "b");
    // The lease begins with the grant, not with the request.
    EXPECT_EQ(table.inspect(Scope::named("job"))->holders[0].expires_at, at(60s));
    table.advance(at(60s));
    EXPECT_EQ(holder(table, "job"), "c");
}

TEST(LockTable, LetsNobodyOvertakeTheQueue) {
    LockTable table;
    table.acquire(at(0s), shared(ask("job", "a")));
    table.acquire(at(0s), queue(ask("job", "b")));
    const Outcome outcome = table.acquire(at(0s), shared(ask("job", "c")));
    EXPECT_EQ(outcome.refusal, Refusal::held);
    EXPECT_EQ(outcome.queue_length, 1U);
    EXPECT_EQ(outcome.lease.owner.name, "a");
}

TEST(LockTable, GrantsSharedWaitersTogether) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    for (const auto* owner : {"b", "c"}) table.acquire(at(0s), queue(shared(ask("job", owner))));
    table.acquire(at(0s), queue(ask("job", "d")));
    table.acquire(at(0s), queue(shared(ask("job", "e"))));
    table.clear_changes();
    table.release(at(1s), {.token = token});
    EXPECT_EQ(take_events(table), (Texts{"released job a", "granted job b", "granted job c"}));
    table.check_invariants();
}

TEST(LockTable, LetsSharedWaitersPassWhenTheWriterBeforeThemGivesUp) {
    LockTable table;
    table.acquire(at(0s), shared(ask("job", "a")));
    table.acquire(at(0s), queue(ask("job", "b"), 5s));
    table.acquire(at(0s), queue(shared(ask("job", "c")), 10s));
    table.clear_changes();
    table.advance(at(5s));
    EXPECT_EQ(take_events(table), (Texts{"wait_timed_out job b", "granted job c"}));
    table.check_invariants();
}

TEST(LockTable, GivesUpAWaitAtItsMoment) {
    LockTable table;
    table.acquire(at(0s), ask("job", "a"));
    const WaiterId waiter = table.acquire(at(1s), queue(ask("job", "b"), 5s)).waiter;
    table.advance(at(6s) - 1us);
    EXPECT_EQ(table.counts().waiters, 1U);
    table.advance(at(6s));
    EXPECT_EQ(table.counts().waiters, 0U);
    EXPECT_FALSE(table.cancel(at(6s), waiter));
}

TEST(LockTable, PrefersTheTimeOutToAGrantAtTheSameMoment) {
    LockTable table;
    table.acquire(at(0s), ask("job", "a"));
    table.acquire(at(0s), queue(ask("job", "b"), 30s));
    table.acquire(at(0s), queue(ask("job", "c"), 31s));
    table.clear_changes();
    table.advance(at(30s));
    EXPECT_EQ(take_events(table),
              (Texts{"wait_timed_out job b", "expired job a", "granted job c"}));
}

TEST(LockTable, CancelsFromTheMiddleOfTheQueue) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    table.acquire(at(0s), queue(ask("job", "b")));
    const WaiterId c = table.acquire(at(0s), queue(ask("job", "c"))).waiter;
    table.acquire(at(0s), queue(ask("job", "d")));
    EXPECT_TRUE(table.cancel(at(1s), c));
    EXPECT_FALSE(table.cancel(at(1s), c));
    table.check_invariants();
    table.release(at(2s), {.token = token});
    EXPECT_EQ(holder(table, "job"), "b");
    EXPECT_EQ(table.inspect(Scope::named("job"))->waiters[0].owner.name, "d");
}

TEST(LockTable, CannotCancelAWaiterThatWasGranted) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    const WaiterId b = table.acquire(at(0s), queue(ask("job", "b"))).waiter;
    table.release(at(1s), {.token = token});
    // Another waiter may have the same slot by now.
    table.acquire(at(1s), queue(ask("job", "c")));
    EXPECT_FALSE(table.cancel(at(1s), b));
    EXPECT_FALSE(table.cancel(at(1s), WaiterId{}));
    EXPECT_EQ(table.counts().waiters, 1U);
}

TEST(LockTable, WaitsOnAtTheSamePlaceForAnotherTime) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    const WaiterId b = table.acquire(at(0s), queue(ask("job", "b"), 5s)).waiter;
    const WaiterId c = table.acquire(at(0s), queue(ask("job", "c"))).waiter;
    EXPECT_TRUE(table.wait_on(at(4s), b, 20s));
    EXPECT_TRUE(table.wait_on(at(4s), c, 2s));
    table.check_invariants();
    table.clear_changes();
    table.advance(at(6s));
    EXPECT_EQ(take_events(table), (Texts{"wait_timed_out job c"}));
    EXPECT_FALSE(table.wait_on(at(6s), c, 10s)) << "it is gone";
    EXPECT_TRUE(table.wait_on(at(6s), b, wait_forever));
    EXPECT_EQ(table.inspect(Scope::named("job"))->waiters[0].deadline, Time::max());
    table.release(at(29s), {.token = token});
    EXPECT_EQ(holder(table, "job"), "b");
    EXPECT_FALSE(table.wait_on(at(29s), b, 10s)) << "it was granted";
}

TEST(LockTable, SharesASemaphoreUpToItsLimit) {
    LockTable table;
    AcquireRequest request = ask(Scope::semaphore("printers"), "a");
    request.limit = 2;
    const Token token = table.acquire(at(0s), request).lease.token;
    EXPECT_EQ(table.acquire(at(0s), request).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(0s), request).refusal, Refusal::held);
    EXPECT_EQ(table.acquire(at(0s), queue(request)).kind, Kind::queued);
    table.clear_changes();
    table.release(at(1s), {.token = token});
    EXPECT_EQ(take_events(table), (Texts{"released printers a", "granted printers a"}));
    request.limit = 3;
    EXPECT_EQ(table.acquire(at(1s), request).refusal, Refusal::limit_mismatch);
    table.check_invariants();
}

TEST(LockTable, ForgetsASemaphoresLimitWithTheSemaphore) {
    LockTable table;
    AcquireRequest request = ask(Scope::semaphore("printers"), "a");
    request.limit = 2;
    table.acquire(at(0s), request);
    request.limit = 3;
    EXPECT_EQ(table.acquire(at(30s), request).kind, Kind::granted);
}

TEST(LockTable, EnqueuesAndGrantsAtOnceWhatIsFree) {
    LockTable table;
    const SessionId session = table.open_session(at(0s), {.name = "conn"});
    const Outcome enqueued = table.enqueue(at(0s), in(session, ask("job", "conn")));
    EXPECT_EQ(enqueued.kind, Kind::granted);
    EXPECT_EQ(enqueued.lease.expires_at, at(30s));
    EXPECT_EQ(table.enqueue(at(1s), in(session, ask("job", "conn"))).refusal,
              Refusal::already_enqueued);
    const Outcome waited = table.wait(at(10s), session, Scope::named("job"), 0s);
    EXPECT_EQ(waited.kind, Kind::granted);
    EXPECT_EQ(waited.lease.token, enqueued.lease.token);
    EXPECT_EQ(waited.lease.expires_at, at(40s));
    EXPECT_EQ(table.wait(at(11s), session, Scope::named("job"), 0s).refusal, Refusal::not_enqueued);
}

TEST(LockTable, KeepsAGrantBetweenEnqueueAndWait) {
    LockTable table;
    const SessionId session = table.open_session(at(0s), {.name = "conn"});
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    EXPECT_EQ(table.enqueue(at(0s), in(session, ask("job", "conn"))).kind, Kind::queued);
    table.release(at(5s), {.token = token});
    const Outcome waited = table.wait(at(20s), session, Scope::named("job"), 1s);
    EXPECT_EQ(waited.kind, Kind::granted);
    EXPECT_EQ(waited.lease.expires_at, at(50s));
    table.check_invariants();
}

TEST(LockTable, SaysThatTheLeaseEndedBetweenEnqueueAndWait) {
    LockTable table;
    const SessionId session = table.open_session(at(0s), {.name = "conn"});
    table.enqueue(at(0s), in(session, ask("job", "conn")));
    EXPECT_EQ(table.wait(at(30s), session, Scope::named("job"), 1s).refusal, Refusal::lease_ended);
    EXPECT_EQ(table.wait(at(30s), session, Scope::named("job"), 1s).refusal, Refusal::not_enqueued);
}

TEST(LockTable, GivesUpTheSecondHalfOfATwoPhaseWait) {
    LockTable table;
    const SessionId session = table.open_session(at(0s), {.name = "conn"});
    table.acquire(at(0s), ask("job", "a"));
    const AcquireRequest request = in(session, ask("job", "conn"));
    table.enqueue(at(0s), request);
    EXPECT_EQ(table.wait(at(1s), session, request.scope, 0s).refusal, Refusal::timed_out);
    EXPECT_EQ(table.counts().waiters, 0U);
    // The entry is used up, so it may enqueue again.
    EXPECT_EQ(table.enqueue(at(1s), request).kind, Kind::queued);
    const Outcome waiting = table.wait(at(2s), session, request.scope, 3s);
    EXPECT_EQ(waiting.kind, Kind::queued);
    table.advance(at(5s));
    EXPECT_EQ(table.counts().waiters, 0U);
    EXPECT_EQ(table.wait(at(5s), session, request.scope, 1s).refusal, Refusal::not_enqueued);
    table.check_invariants();
}

TEST(LockTable, MayEnqueueAgainAfterACancel) {
    LockTable table;
    const SessionId session = table.open_session(at(0s), {.name = "conn"});
    table.acquire(at(0s), ask("job", "a"));
    const AcquireRequest request = in(session, ask("job", "conn"));
    const WaiterId waiter = table.enqueue(at(0s), request).waiter;
    EXPECT_TRUE(table.cancel(at(1s), waiter));
    EXPECT_EQ(table.wait(at(1s), session, request.scope, 1s).refusal, Refusal::not_enqueued);
    EXPECT_EQ(table.enqueue(at(1s), request).kind, Kind::queued);
    table.check_invariants();
}

}  // namespace
}  // namespace holdfast::core
