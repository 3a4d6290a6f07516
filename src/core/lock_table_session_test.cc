// Sessions and their two-phase entries: how long they last, and that nothing of them is left.

#include <gtest/gtest.h>

#include <string>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

const Scope job = Scope::named("job");

// A table with one session, and requests of that session.
class TwoPhase : public ::testing::Test {
  protected:
    Outcome enqueue(Duration now, const Scope& scope = job) {
        return table_.enqueue(at(now), in(session_, ask(scope, "conn")));
    }
    Outcome wait(Duration now, const Scope& scope = job) {
        return table_.wait(at(now), session_, scope, 5s);
    }
    void TearDown() override { table_.check_invariants(); }

    LockTable table_{{.limits = {.expired_entries_max = 3}}};
    SessionId session_ = table_.open_session(at(0s), {.name = "conn"});
};

TEST_F(TwoPhase, EntryEndsWithTheRelease) {
    for (const Scope& scope : {job, Scope::semaphore("pool"), Scope::of_range(7, {0, 10})}) {
        const Token token = enqueue(0s, scope).lease.token;
        EXPECT_EQ(enqueue(0s, scope).refusal, Refusal::already_enqueued);
        EXPECT_EQ(table_.release(at(1s), {.token = token}).kind, Kind::released);
        EXPECT_EQ(table_.counts().entries, 0U);
        EXPECT_EQ(wait(1s, scope).refusal, Refusal::not_enqueued);
        EXPECT_EQ(enqueue(1s, scope).kind, Kind::granted) << to_text(scope);
        EXPECT_EQ(wait(1s, scope).kind, Kind::granted);
    }
}

TEST_F(TwoPhase, EntryEndsWithTheReleaseOfAGrantThatNobodyWaitedFor) {
    const Token first = table_.acquire(at(0s), ask(job, "a")).lease.token;
    EXPECT_EQ(enqueue(0s).kind, Kind::queued);
    table_.release(at(1s), {.token = first});
    const Token second = table_.inspect(job)->holders.at(0).token;
    table_.release(at(2s), {.token = second});
    EXPECT_EQ(wait(2s).refusal, Refusal::not_enqueued);
    EXPECT_EQ(enqueue(2s).kind, Kind::granted);
}

TEST_F(TwoPhase, EntryEndsWithAForcedRelease) {
    enqueue(0s);
    EXPECT_EQ(table_.force_release(at(1s), job), 1U);
    EXPECT_EQ(wait(1s).refusal, Refusal::not_enqueued);
    enqueue(1s);
    EXPECT_EQ(table_.release_own(at(2s), job, {.name = "conn"}).kind, Kind::released);
    EXPECT_EQ(wait(2s).refusal, Refusal::not_enqueued);
    EXPECT_EQ(table_.counts().entries, 0U);
}

TEST_F(TwoPhase, WaitSaysOnceThatTheLeaseExpired) {
    enqueue(0s);
    EXPECT_EQ(wait(30s).refusal, Refusal::lease_ended);
    EXPECT_EQ(wait(30s).refusal, Refusal::not_enqueued);
    EXPECT_EQ(table_.counts().entries, 0U);
}

// The wait promises the TTL of the enqueue, not that of a renewal in between.
TEST_F(TwoPhase, WaitBeginsTheLeaseForTheTimeOfTheEnqueue) {
    const Token token = enqueue(0s).lease.token;
    EXPECT_EQ(table_.renew(at(1s), {.token = token, .ttl = 90s}).lease.expires_at, at(91s));
    const Outcome waited = wait(50s);
    EXPECT_EQ(waited.kind, Kind::granted);
    EXPECT_EQ(waited.lease.ttl, 30s);
    EXPECT_EQ(waited.lease.expires_at, at(80s));
    table_.advance(at(80s));
    EXPECT_EQ(table_.counts().leases, 0U);
}

TEST_F(TwoPhase, MayEnqueueAgainAfterAnExpiry) {
    const Token first = enqueue(0s).lease.token;
    const Outcome again = enqueue(30s);
    EXPECT_EQ(again.kind, Kind::granted);
    EXPECT_NE(again.lease.token, first);
    EXPECT_EQ(enqueue(30s).refusal, Refusal::already_enqueued);
    EXPECT_EQ(wait(31s).lease.token, again.lease.token) << "the old lease is forgotten";
    EXPECT_EQ(wait(31s).refusal, Refusal::not_enqueued);
}

TEST_F(TwoPhase, QueuesAgainAfterAnExpiry) {
    enqueue(0s);
    table_.acquire(at(30s), ask(job, "other"));
    EXPECT_EQ(enqueue(31s).kind, Kind::queued);
    EXPECT_EQ(wait(31s).kind, Kind::queued);
}

TEST_F(TwoPhase, ARefusedRenewalChangesNothing) {
    const Token token = enqueue(0s).lease.token;
    EXPECT_EQ(table_.renew(at(30s), {.token = token}).refusal, Refusal::lease_ended);
    EXPECT_EQ(enqueue(30s).kind, Kind::granted);
    EXPECT_EQ(table_.renew(at(60s), {.token = token}).refusal, Refusal::lease_ended);
    EXPECT_EQ(wait(60s).refusal, Refusal::lease_ended);
}

TEST_F(TwoPhase, ARefusedEnqueueLeavesTheNewsOfAnExpiry) {
    enqueue(0s);
    AcquireRequest too_short = in(session_, ask(job, "conn"));
    too_short.ttl = 0s;
    EXPECT_EQ(table_.enqueue(at(30s), too_short).refusal, Refusal::ttl_out_of_range);
    EXPECT_EQ(wait(30s).refusal, Refusal::lease_ended);
}

TEST_F(TwoPhase, ALeaseInGraceIsTakenAgainByANewEntry) {
    AcquireRequest request = in(session_, ask(job, "conn"));
    request.grace = 10s;
    const Token first = table_.enqueue(at(0s), request).lease.token;
    table_.advance(at(30s));
    table_.check_invariants();
    const Outcome again = table_.enqueue(at(35s), request);
    EXPECT_EQ(again.kind, Kind::granted);
    EXPECT_NE(again.lease.token, first);
    table_.check_invariants();
    EXPECT_EQ(wait(36s).lease.token, again.lease.token);
}

TEST_F(TwoPhase, ForgetsTheOldestOfTooManyExpiredEntries) {
    for (const auto* name : {"a", "b", "c", "d"}) enqueue(0s, Scope::named(name));
    EXPECT_EQ(table_.counts().entries, 4U) << "those that hold have no limit of their own";
    table_.advance(at(30s));
    EXPECT_EQ(table_.counts().entries, 3U);
    int told = 0;
    for (const auto* name : {"a", "b", "c", "d"}) {
        told += wait(30s, Scope::named(name)).refusal == Refusal::lease_ended ? 1 : 0;
    }
    EXPECT_EQ(told, 3);
    EXPECT_EQ(table_.counts().entries, 0U);
}

TEST_F(TwoPhase, EntriesEndWithTheirSessionWhateverTheyStandFor) {
    table_.acquire(at(0s), ask("busy", "other"));
    enqueue(0s, Scope::named("busy"));
    enqueue(0s, Scope::named("expired"));
    table_.advance(at(29s));
    enqueue(29s, Scope::named("held"));
    table_.advance(at(30s));
    EXPECT_EQ(table_.counts().entries, 3U);
    table_.end_session(at(31s), session_, LockTable::SessionLeases::keep);
    EXPECT_EQ(table_.counts().entries, 0U);
    table_.check_invariants();
    session_ = table_.open_session(at(31s), {.name = "conn"});
    EXPECT_EQ(wait(31s, Scope::named("held")).refusal, Refusal::not_enqueued);
    table_.advance(at(61s));  // the lease that was kept expires without an entry
}

TEST_F(TwoPhase, ManyKeysThroughOneSessionLeaveNothing) {
    for (int i = 0; i < 200'000; ++i) {
        const std::string key = "key number " + std::to_string(i);
        const Token token = enqueue(0s, Scope::named(key)).lease.token;
        table_.release(at(0s), {.token = token});
        table_.clear_changes();
    }
    const TableCounts counts = table_.counts();
    EXPECT_EQ(counts.entries, 0U);
    EXPECT_EQ(counts.leases, 0U);
    EXPECT_EQ(counts.locks, 0U);
}

TEST_F(TwoPhase, ManyLeasesThatExpireLeaveAFewEntriesOnly) {
    for (int i = 0; i < 10'000; ++i) {
        enqueue(std::chrono::seconds{i}, Scope::named("key number " + std::to_string(i)));
        table_.clear_changes();
        ASSERT_LE(table_.counts().entries, 30U + 3U);
    }
}

TEST(LockTable, EnqueuesOnlyWithinASession) {
    LockTable table;
    EXPECT_EQ(table.enqueue(at(0s), ask("job", "a")).refusal, Refusal::unknown_session);
    const SessionId session = table.open_session(at(0s), {.name = "conn"});
    EXPECT_EQ(table.wait(at(0s), session, Scope::named("job"), 1s).refusal, Refusal::not_enqueued);
    table.end_session(at(1s), session);
    EXPECT_EQ(table.enqueue(at(1s), in(session, ask("job", "a"))).refusal,
              Refusal::unknown_session);
    EXPECT_EQ(table.acquire(at(1s), in(session, ask("job", "a"))).refusal,
              Refusal::unknown_session);
    EXPECT_EQ(table.wait(at(1s), session, Scope::named("job"), 1s).refusal,
              Refusal::unknown_session);
    EXPECT_FALSE(table.end_session(at(1s), session));
    EXPECT_EQ(table.counts().locks, 0U);
}

TEST(LockTable, EndsEverythingOfASessionAtOnce) {
    LockTable table;
    const SessionId gone = table.open_session(at(0s), {.name = "gone"});
    table.acquire(at(0s), in(gone, ask("one", "gone")));
    table.acquire(at(0s), queue(ask("one", "next")));
    table.acquire(at(0s), ask("two", "other"));
    table.acquire(at(0s), in(gone, queue(ask("two", "gone"))));
    table.enqueue(at(0s), in(gone, ask("three", "gone")));
    EXPECT_TRUE(table.end_session(at(1s), gone));
    EXPECT_EQ(holder(table, "one"), "next");
    EXPECT_EQ(table.inspect(Scope::named("two"))->waiter_count, 0U);
    EXPECT_FALSE(table.inspect(Scope::named("three")));
    EXPECT_EQ(table.counts().sessions, 0U);
    table.check_invariants();
}

TEST(LockTable, GrantsNothingToASessionThatIsEnding) {
    LockTable table;
    const SessionId gone = table.open_session(at(0s), {.name = "gone"});
    // It waits for itself twice, and once more behind a stranger.
    table.acquire(at(0s), in(gone, shared(ask("job", "gone"))));
    table.acquire(at(0s), in(gone, queue(ask("job", "gone"))));
    table.acquire(at(0s), in(gone, queue(shared(ask("job", "gone")))));
    table.acquire(at(0s), queue(shared(ask("job", "stranger"))));
    table.acquire(at(0s), in(gone, queue(shared(ask("job", "gone")))));
    table.clear_changes();
    table.end_session(at(1s), gone);
    for (const auto& event : take_events(table)) EXPECT_NE(event, "granted job gone");
    EXPECT_EQ(holder(table, "job"), "stranger");
}

TEST(LockTable, LetsLeasesOutliveTheirSessionWhenAsked) {
    LockTable table;
    const SessionId session = table.open_session(at(0s), {.name = "conn"});
    const Token token = table.acquire(at(0s), in(session, ask("job", "conn"))).lease.token;
    table.acquire(at(0s), in(session, queue(ask("job", "conn"))));
    table.end_session(at(1s), session, LockTable::SessionLeases::keep);
    EXPECT_EQ(table.find(token).kind, Kind::found);
    EXPECT_FALSE(table.find(token).lease.session);
    EXPECT_EQ(table.counts().waiters, 0U);
    EXPECT_EQ(table.renew(at(2s), {.token = token}).kind, Kind::renewed);
    table.check_invariants();
}

TEST(LockTable, DoesNotTakeANewSessionForAnOldOne) {
    LockTable table;
    const SessionId old = table.open_session(at(0s), {.name = "old"});
    table.end_session(at(0s), old);
    const SessionId young = table.open_session(at(0s), {.name = "young"});
    EXPECT_NE(old, young);
    EXPECT_FALSE(table.end_session(at(0s), old));
    EXPECT_EQ(table.counts().sessions, 1U);
}

}  // namespace
}  // namespace holdfast::core
