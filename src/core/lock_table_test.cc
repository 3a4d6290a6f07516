// Leases: how they are granted, renewed and released, and how they expire.

#include "core/lock_table.h"

#include <gtest/gtest.h>

#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

TEST(LockTable, GrantsWhatIsFree) {
    LockTable table;
    const Outcome outcome = table.acquire(at(1s), ask("job", "laptop1"));
    EXPECT_EQ(outcome.kind, Kind::granted);
    EXPECT_EQ(outcome.lease.scope, Scope::named("job"));
    EXPECT_EQ(outcome.lease.owner.name, "laptop1");
    EXPECT_EQ(outcome.lease.state, LeaseState::held);
    EXPECT_EQ(outcome.lease.token, (Token{fence(1), Secret{0x5ec2e7}}));
    EXPECT_EQ(outcome.lease.acquired_at, at(1s));
    EXPECT_EQ(outcome.lease.expires_at, at(31s));
    EXPECT_EQ(outcome.lease.grace_until, at(31s));
    EXPECT_EQ(outcome.lease.ttl, 30s);
    EXPECT_EQ(outcome.previous_owner, "");
    table.check_invariants();
}

TEST(LockTable, RefusesWhatIsHeldAndNamesTheHolder) {
    LockTable table;
    table.acquire(at(0s), ask("job", "laptop1"));
    const Outcome outcome = table.acquire(at(1s), ask("job", "laptop2"));
    EXPECT_EQ(outcome.kind, Kind::refused);
    EXPECT_EQ(outcome.refusal, Refusal::held);
    EXPECT_EQ(outcome.lease.owner.name, "laptop1");
    EXPECT_EQ(outcome.lease.expires_at, at(30s));
    EXPECT_EQ(outcome.queue_length, 0U);
}

TEST(LockTable, TakesTheSameTextOfDifferentKindsForDifferentThings) {
    LockTable table;
    for (const Scope& scope : {Scope::named("7"), Scope::semaphore("7"), Scope::path("7"),
                               Scope::of_inode(7), Scope::of_inode(8)}) {
        EXPECT_EQ(table.acquire(at(0s), ask(scope, "a")).kind, Kind::granted) << to_text(scope);
    }
    EXPECT_EQ(table.counts().locks, 5U);
    table.check_invariants();
}

TEST(LockTable, NumbersEveryGrantHigherThanTheLast) {
    LockTable table({.first_fence = 100});
    Fence last{0};
    for (int i = 0; i < 10; ++i) {
        const Outcome outcome = table.acquire(at(0s), ask(i % 2 == 0 ? "even" : "odd", "a"));
        ASSERT_EQ(outcome.kind, Kind::granted);
        EXPECT_GT(outcome.lease.token.fence, last);
        last = outcome.lease.token.fence;
        table.release(at(0s), {.token = outcome.lease.token});
    }
    EXPECT_EQ(last, fence(109));
    EXPECT_EQ(table.next_fence(), 110U);
}

TEST(LockTable, RenewsForTheSameOwnerAskingAgain) {
    LockTable table;
    AcquireRequest request = ask("job", "laptop1");
    request.renew_own = true;
    table.acquire(at(0s), request);
    request.ttl = 60s;
    request.grace = 5s;
    const Outcome renewed = table.acquire(at(10s), request);
    EXPECT_EQ(renewed.kind, Kind::renewed);
    EXPECT_EQ(renewed.lease.token.fence, fence(1));
    EXPECT_EQ(renewed.lease.acquired_at, at(0s));
    EXPECT_EQ(renewed.lease.expires_at, at(70s));
    EXPECT_EQ(renewed.lease.grace_until, at(75s));
}

TEST(LockTable, TakesTheSameNameAtAnotherDoorForSomebodyElse) {
    LockTable table;
    AcquireRequest request = ask("job", "laptop1");
    request.renew_own = true;
    table.acquire(at(0s), request);
    request.owner.door = Door{1};
    EXPECT_EQ(table.acquire(at(1s), request).refusal, Refusal::held);
    EXPECT_EQ(table.release_own(at(1s), request.scope, request.owner).refusal,
              Refusal::unknown_lease);
}

TEST(LockTable, MakesAnOwnerWaitForItselfUnlessItRenews) {
    LockTable table;
    table.acquire(at(0s), ask("job", "laptop1"));
    EXPECT_EQ(table.acquire(at(1s), ask("job", "laptop1")).refusal, Refusal::held);
    EXPECT_EQ(table.acquire(at(1s), queue(ask("job", "laptop1"))).kind, Kind::queued);
}

TEST(LockTable, ExtendsALeaseByItsToken) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    EXPECT_EQ(table.renew(at(10s), {.token = token}).lease.expires_at, at(40s));
    EXPECT_EQ(table.renew(at(10s), {.token = token, .ttl = 5s}).lease.expires_at, at(15s));
    // The TTL of a renewal becomes the TTL of the lease.
    EXPECT_EQ(table.renew(at(12s), {.token = token}).lease.expires_at, at(17s));
    table.advance(at(17s));
    EXPECT_EQ(table.counts().leases, 0U);
}

TEST(LockTable, KeepsTheLaterEndWhenAskedNotToShorten) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    const RenewRequest request{.token = token, .ttl = 5s, .never_shorten = true};
    EXPECT_EQ(table.renew(at(1s), request).lease.expires_at, at(30s));
    EXPECT_EQ(table.renew(at(29s), request).lease.expires_at, at(34s));
}

// The TTL in the store must not be shorter than what the holder was told.
TEST(LockTable, KeepsTheLongerTtlWhenAskedNotToShorten) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    table.clear_changes();
    const auto renewed = table.renew(at(1s), {.token = token, .ttl = 5s, .never_shorten = true});
    EXPECT_EQ(renewed.lease.ttl, 30s);
    EXPECT_FALSE(table.changes()[0].has_new_terms);
    EXPECT_EQ(table.renew(at(1s), {.token = token, .ttl = 50s, .never_shorten = true}).lease.ttl,
              50s);
}

TEST(LockTable, KeepsTheNotesOfARequest) {
    LockTable table;
    AcquireRequest first = ask("job", "a");
    first.notes = {.request_id = "r1", .metadata = "nightly"};
    AcquireRequest second = ask("job", "b");
    second.notes = {.request_id = "r2", .metadata = "weekly"};
    second.wait = 10s;
    const Outcome granted = table.acquire(at(0s), first);
    EXPECT_EQ(granted.lease.notes, first.notes);
    table.acquire(at(0s), second);
    EXPECT_EQ(table.inspect(second.scope)->waiters.front().notes, second.notes);
    table.clear_changes();
    table.release(at(1s), {.token = granted.lease.token});
    EXPECT_EQ(table.inspect(second.scope)->holders.front().notes, second.notes);
    EXPECT_EQ(table.changes()[0].lease.notes, first.notes);
    EXPECT_EQ(table.changes()[1].lease.notes, second.notes);
}

TEST(LockTable, TellsAnEndedLeaseFromOneThatNeverWas) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    const auto refusals = [&](Token shown) {
        const Refusal found = table.find(shown).refusal;
        EXPECT_EQ(table.renew(table.now(), {.token = shown}).refusal, found);
        EXPECT_EQ(table.release(table.now(), {.token = shown}).refusal, found);
        return found;
    };
    EXPECT_EQ(refusals({fence(2), token.secret}), Refusal::unknown_lease);
    EXPECT_EQ(refusals({fence(0), token.secret}), Refusal::unknown_lease);
    EXPECT_EQ(refusals({token.fence, Secret{1}}), Refusal::unknown_lease);
    EXPECT_EQ(table.find(token).kind, Kind::found);
    EXPECT_EQ(table.find(token).lease.owner.name, "a");
    table.advance(at(30s));
    EXPECT_EQ(refusals(token), Refusal::lease_ended);
}

TEST(LockTable, AcceptsATokenOnlyForItsScopeAndOwner) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    const auto unknown = Refusal::unknown_lease;
    EXPECT_EQ(table.renew(at(0s), {.token = token, .scope = Scope::named("b")}).refusal, unknown);
    EXPECT_EQ(table.renew(at(0s), {.token = token, .scope = Scope::path("job")}).refusal, unknown);
    EXPECT_EQ(table.renew(at(0s), {.token = token, .owner = Owner{.name = "b"}}).refusal, unknown);
    EXPECT_EQ(table.release(at(0s), {.token = token, .owner = Owner{Door{1}, "a"}}).refusal,
              unknown);
    EXPECT_EQ(
        table
            .release(at(0s),
                     {.token = token, .scope = Scope::named("job"), .owner = Owner{.name = "a"}})
            .kind,
        Kind::released);
}

TEST(LockTable, ReleasesOnce) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    EXPECT_EQ(table.release(at(1s), {.token = token}).kind, Kind::released);
    EXPECT_EQ(table.release(at(1s), {.token = token}).refusal, Refusal::lease_ended);
    EXPECT_FALSE(table.inspect(Scope::named("job")));
    EXPECT_EQ(table.counts().locks, 0U);
}

TEST(LockTable, ExpiresALeaseAtItsMomentAndNotBefore) {
    LockTable table;
    table.acquire(at(0s), ask("job", "a"));
    EXPECT_EQ(table.next_deadline(), at(30s));
    table.advance(at(30s) - 1us);
    EXPECT_EQ(table.counts().leases, 1U);
    EXPECT_EQ(table.acquire(at(30s) - 1us, ask("job", "b")).refusal, Refusal::held);
    EXPECT_EQ(table.acquire(at(30s), ask("job", "b")).kind, Kind::granted);
}

TEST(LockTable, NeverLetsTimeGoBack) {
    LockTable table;
    table.advance(at(100s));
    const Outcome outcome = table.acquire(at(1s), ask("job", "a"));
    EXPECT_EQ(outcome.lease.acquired_at, at(100s));
    EXPECT_EQ(outcome.lease.expires_at, at(130s));
    EXPECT_EQ(table.now(), at(100s));
}

TEST(LockTable, HasNoDeadlineWhenNothingWillHappen) {
    LockTable table;
    EXPECT_FALSE(table.next_deadline());
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    EXPECT_TRUE(table.next_deadline());
    table.release(at(0s), {.token = token});
    EXPECT_FALSE(table.next_deadline());
}

TEST(LockTable, HasADeadlineNoLaterThanTheNextThingThatHappens) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    table.renew(at(10s), {.token = token});
    // It may be too early, and is exact once that moment has come.
    EXPECT_LE(*table.next_deadline(), at(40s));
    table.advance(*table.next_deadline());
    EXPECT_EQ(table.next_deadline(), at(40s));
    table.renew(at(35s), {.token = token, .ttl = 1s});
    EXPECT_EQ(table.next_deadline(), at(36s));
    table.acquire(at(35s), queue(ask("job", "b"), 500ms));
    EXPECT_EQ(table.next_deadline(), at(35500ms));
}

TEST(LockTable, KeepsAnExpiredLockForItsOwnerInGrace) {
    LockTable table;
    AcquireRequest request = ask("job", "laptop1");
    request.grace = 5s;
    table.acquire(at(0s), request);
    table.advance(at(30s));
    EXPECT_EQ(table.counts().leases, 0U);
    const Outcome refused = table.acquire(at(34s), ask("job", "laptop2"));
    EXPECT_EQ(refused.refusal, Refusal::in_grace);
    EXPECT_EQ(refused.lease.owner.name, "laptop1");
    EXPECT_EQ(refused.lease.state, LeaseState::grace);
    EXPECT_EQ(refused.lease.grace_until, at(35s));
    const Outcome again = table.acquire(at(34s), request);
    EXPECT_EQ(again.kind, Kind::granted);
    EXPECT_EQ(again.lease.token.fence, fence(2));
    EXPECT_EQ(again.previous_owner, "laptop1");
    EXPECT_EQ(again.lease.expires_at, at(64s));
    table.check_invariants();
}

TEST(LockTable, ForgetsTheLastOwnerWhenALockIsReclaimed) {
    LockTable table;
    AcquireRequest remembered = shared(ask("job", "laptop1")), kept = shared(ask("job", "laptop2"));
    remembered.memory = kept.grace = 60s;
    table.acquire(at(0s), remembered);
    table.acquire(at(0s), kept);
    table.advance(at(30s));
    EXPECT_EQ(table.inspect(Scope::named("job"))->lapsed->owner.name, "laptop1");
    EXPECT_EQ(table.acquire(at(31s), kept).previous_owner, "laptop2");
    EXPECT_FALSE(table.inspect(Scope::named("job"))->lapsed);
    table.check_invariants();
}

TEST(LockTable, GivesAwayWhatWasNotReclaimedInGrace) {
    LockTable table;
    AcquireRequest request = ask("job", "laptop1");
    request.grace = 5s;
    table.acquire(at(0s), request);
    table.acquire(at(1s), queue(ask("job", "laptop2")));
    table.advance(at(30s));
    EXPECT_EQ(table.counts().waiters, 1U);
    table.advance(at(35s));
    EXPECT_EQ(table.inspect(Scope::named("job"))->holders[0].owner.name, "laptop2");
}

TEST(LockTable, KnowsNoGraceAfterARelease) {
    LockTable table;
    AcquireRequest request = ask("job", "laptop1");
    request.grace = 5s;
    request.memory = 60s;
    const Token token = table.acquire(at(0s), request).lease.token;
    table.release(at(1s), {.token = token});
    EXPECT_EQ(table.counts().locks, 0U);
    EXPECT_EQ(table.acquire(at(1s), ask("job", "laptop2")).previous_owner, "");
}

TEST(LockTable, RemembersTheLastOwnerAfterGrace) {
    LockTable table;
    AcquireRequest request = ask("job", "laptop1");
    request.grace = 5s;
    request.memory = 60s;
    table.acquire(at(0s), request);
    table.advance(at(40s));
    const auto lock = table.inspect(Scope::named("job"));
    ASSERT_TRUE(lock && lock->lapsed);
    EXPECT_TRUE(lock->holders.empty());
    EXPECT_EQ(lock->lapsed->owner.name, "laptop1");
    EXPECT_EQ(lock->lapsed->state, LeaseState::lapsed);
    EXPECT_EQ(table.acquire(at(50s), ask("job", "laptop2")).previous_owner, "laptop1");
    EXPECT_FALSE(table.inspect(Scope::named("job"))->lapsed);
    table.check_invariants();
}

TEST(LockTable, ForgetsTheLastOwnerInTheEnd) {
    LockTable table;
    AcquireRequest request = ask("job", "laptop1");
    request.grace = 5s;
    request.memory = 60s;
    table.acquire(at(0s), request);
    table.advance(at(95s) - 1us);
    EXPECT_TRUE(table.inspect(request.scope));
    table.advance(at(95s));
    EXPECT_FALSE(table.inspect(request.scope));
    EXPECT_EQ(table.counts().locks, 0U);
    EXPECT_FALSE(table.next_deadline());
}

TEST(LockTable, ReleasesHeldKeptAndRememberedByName) {
    LockTable table;
    AcquireRequest request = ask("job", "laptop1");
    request.grace = 5s;
    request.memory = 60s;
    for (const Duration moment : {10s, 32s, 50s}) {
        const Time start = table.now();
        table.acquire(start, request);
        const Outcome other = table.release_own(start + moment, request.scope, {.name = "laptop2"});
        EXPECT_EQ(other.refusal, Refusal::unknown_lease);
        const Outcome own = table.release_own(start + moment, request.scope, request.owner);
        EXPECT_EQ(own.kind, Kind::released);
        EXPECT_EQ(table.counts().locks, 0U);
    }
    EXPECT_EQ(table.release_own(table.now(), request.scope, request.owner).refusal,
              Refusal::unknown_lease);
}

TEST(LockTable, EndsEveryHoldByForce) {
    LockTable table;
    std::vector<Token> tokens;
    for (const auto* owner : {"a", "b", "c"}) {
        tokens.push_back(table.acquire(at(0s), shared(ask("job", owner))).lease.token);
    }
    table.acquire(at(0s), queue(ask("job", "d")));
    EXPECT_EQ(table.force_release(at(1s), Scope::named("job")), 3U);
    for (const Token token : tokens) EXPECT_EQ(table.find(token).refusal, Refusal::lease_ended);
    EXPECT_EQ(table.inspect(Scope::named("job"))->holders[0].owner.name, "d");
    EXPECT_EQ(table.force_release(at(1s), Scope::named("nothing")), 0U);
    table.check_invariants();
}

TEST(LockTable, ForcesOnlyTheRangesThatOverlap) {
    LockTable table;
    table.acquire(at(0s), ask(Scope::of_range(7, {0, 10}), "a"));
    table.acquire(at(0s), ask(Scope::of_range(7, {10, 20}), "b"));
    table.acquire(at(0s), ask(Scope::of_range(7, {20, 30}), "c"));
    EXPECT_EQ(table.force_release(at(1s), Scope::of_range(7, {5, 15})), 2U);
    EXPECT_EQ(table.inspect(Scope::of_inode(7))->holders[0].owner.name, "c");
    EXPECT_EQ(table.force_release(at(1s), Scope::of_inode(7)), 1U);
    EXPECT_EQ(table.counts().locks, 0U);
}

TEST(LockTable, ForcesGraceToo) {
    LockTable table;
    AcquireRequest request = ask("job", "a");
    request.grace = 5s;
    table.acquire(at(0s), request);
    EXPECT_EQ(table.force_release(at(31s), request.scope), 1U);
    EXPECT_EQ(table.acquire(at(31s), ask("job", "b")).kind, Kind::granted);
}

TEST(LockTable, EndsUpTheSameAfterTheSameCalls) {
    const auto run = [](std::string_view last_owner) {
        LockTable table({.hash_seed = 5});
        const SessionId session = table.open_session(at(0s), {.name = "conn"});
        table.acquire(at(0s), in(session, ask("a", "x")));
        table.acquire(at(1s), queue(shared(ask("a", "y")), 10s));
        table.acquire(at(2s), ask(Scope::of_range(7, {0, 10}), "z"));
        table.enqueue(at(3s), in(session, ask(Scope::of_inode(7), last_owner)));
        table.advance(at(12s));
        return table.digest();
    };
    EXPECT_EQ(run("x"), run("x"));
    EXPECT_NE(run("x"), run("w"));
}

// A name that is a lock for one client and a semaphore for another protects nothing.
TEST(LockTable, ANameIsALockOrASemaphoreForWhoeverAsksForThat) {
    const auto only = [](AcquireRequest request) {
        request.is_only_kind = true;
        return request;
    };
    AcquireRequest permit = only(ask(Scope::semaphore("x"), "b"));
    permit.limit = 2;
    LockTable table;
    const Token token = table.acquire(at(0s), only(ask("x", "a"))).lease.token;
    EXPECT_EQ(table.acquire(at(0s), permit).refusal, Refusal::other_kind);
    EXPECT_EQ(table.acquire(at(0s), queue(permit)).refusal, Refusal::other_kind);
    table.release(at(1s), {.token = token});
    EXPECT_EQ(table.acquire(at(1s), permit).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(1s), only(ask("x", "a"))).refusal, Refusal::other_kind);
    EXPECT_EQ(table.acquire(at(1s), only(ask("y", "a"))).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(1s), ask("x", "a")).kind, Kind::granted) << "did not ask for it";
    AcquireRequest again = only(ask("x", "a"));
    again.renew_own = true;
    EXPECT_EQ(table.acquire(at(2s), again).kind, Kind::renewed) << "it is a lock, too, by now";
    table.check_invariants();
}

}  // namespace
}  // namespace holdfast::core
