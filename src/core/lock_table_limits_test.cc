// Limits, each refused by its name, and how long unused locks stay.

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(LockTable, RefusesMoreLeasesThanItMayHold) {
    LockTable table(with({.locks_max = 10, .leases_max = 3}));
    std::vector<Token> tokens;
    for (const auto* owner : {"x", "y", "z"}) {
        tokens.push_back(table.acquire(at(0s), shared(ask("a", owner))).lease.token);
    }
    EXPECT_EQ(table.acquire(at(0s), shared(ask("a", "w"))).refusal, Refusal::leases_max);
    EXPECT_EQ(table.acquire(at(0s), ask("b", "w")).refusal, Refusal::leases_max);
    EXPECT_EQ(table.counts().locks, 1U) << "nothing is kept of a refused request";
    EXPECT_EQ(table.acquire(at(0s), ask("a", "w")).refusal, Refusal::held)
        << "who is in the way anyway is named";
    AcquireRequest again = shared(ask("a", "x"));
    again.renew_own = true;
    EXPECT_EQ(table.acquire(at(1s), again).kind, Kind::renewed);
    table.release(at(1s), {.token = tokens[0]});
    EXPECT_EQ(table.acquire(at(1s), ask("b", "w")).kind, Kind::granted);
    table.check_invariants();
}

TEST(LockTable, CountsPermitsAndRangesAsLeases) {
    LockTable table(with({.leases_max = 2}));
    AcquireRequest permit = ask(Scope::semaphore("pool"), "x");
    permit.limit = 10;
    EXPECT_EQ(table.acquire(at(0s), permit).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(0s), ask(Scope::of_range(7, {0, 1}), "x")).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(0s), permit).refusal, Refusal::leases_max);
    EXPECT_EQ(table.acquire(at(0s), ask(Scope::of_range(7, {1, 2}), "x")).refusal,
              Refusal::leases_max);
}

TEST(LockTable, CountsASetOnceForEachOfItsLocks) {
    const std::vector<SetMember> members{{.scope = Scope::named("a"), .mode = Mode::shared},
                                         {.scope = Scope::named("b"), .mode = Mode::shared},
                                         {.scope = Scope::named("c"), .mode = Mode::shared}};
    AcquireRequest set = shared(ask("a", "x"));
    set.members = members;
    LockTable table(with({.leases_max = 7, .waiters_max = 3}));
    const Token token = table.acquire(at(0s), set).lease.token;
    EXPECT_EQ(table.acquire(at(0s), set).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(0s), set).refusal, Refusal::leases_max);
    EXPECT_EQ(table.acquire(at(0s), shared(ask("a", "x"))).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(0s), shared(ask("a", "x"))).refusal, Refusal::leases_max);
    table.release(at(1s), {.token = token});
    const Outcome exclusive = table.acquire(at(1s), queue(ask("a", "y")));
    EXPECT_EQ(exclusive.kind, Kind::queued);
    AcquireRequest waiting = queue(set);
    EXPECT_EQ(table.acquire(at(1s), waiting).refusal, Refusal::leases_max);
    table.cancel(at(1s), exclusive.waiter);
    table.check_invariants();

    LockTable few(with({.waiters_max = 3}));
    few.acquire(at(0s), ask("a", "x"));
    EXPECT_EQ(few.acquire(at(0s), waiting).kind, Kind::queued);
    EXPECT_EQ(few.acquire(at(0s), queue(ask("a", "y"))).refusal, Refusal::waiters_max);
}

// The end of a writer grants all waiting readers at once: the limit must allow that.
TEST(LockTable, KeepsRoomForTheLeasesOfWaiters) {
    LockTable table(with({.leases_max = 3}));
    const Token token = table.acquire(at(0s), ask("a", "writer")).lease.token;
    table.acquire(at(0s), queue(shared(ask("a", "r1"))));
    table.acquire(at(0s), queue(shared(ask("a", "r2"))));
    EXPECT_EQ(table.acquire(at(0s), queue(shared(ask("a", "r3")))).refusal, Refusal::leases_max);
    EXPECT_EQ(table.acquire(at(0s), ask("b", "x")).refusal, Refusal::leases_max);
    table.release(at(1s), {.token = token});
    EXPECT_EQ(table.counts().leases, 2U);
    EXPECT_EQ(table.acquire(at(1s), ask("b", "x")).kind, Kind::granted);
}

TEST(LockTable, DoesNotCountTheMemoryOfALastOwnerAsALease) {
    LockTable table(with({.leases_max = 1}));
    AcquireRequest request = ask("a", "x");
    request.memory = 60s;
    table.acquire(at(0s), request);
    EXPECT_EQ(table.acquire(at(30s), ask("b", "y")).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(30s), ask("a", "y")).refusal, Refusal::leases_max);
    table.check_invariants();
    EXPECT_EQ(table.acquire(at(60s), ask("a", "y")).previous_owner, "x");
    table.check_invariants();
}

TEST(LockTable, CountsAKeptLockAsALeaseButLetsItsOwnerHaveItBack) {
    LockTable table(with({.leases_max = 1}));
    AcquireRequest request = ask("a", "x");
    request.grace = 60s;
    table.acquire(at(0s), request);
    EXPECT_EQ(table.acquire(at(30s), ask("b", "y")).refusal, Refusal::leases_max);
    EXPECT_EQ(table.acquire(at(31s), request).kind, Kind::granted);
}

TEST(LockTable, RestoresLeasesWhateverTheirLimit) {
    LockTable table(with({.leases_max = 1}));
    for (const std::uint64_t number : {1U, 2U}) {
        const std::string name = "job " + std::to_string(number);
        EXPECT_TRUE(table.restore(at(0s), remembered(ask(name, "x"), number)));
    }
    EXPECT_EQ(table.acquire(at(0s), ask("another", "x")).refusal, Refusal::leases_max);
}

TEST(LockTable, OpensNotMoreSessionsThanThereMayBe) {
    LockTable table(with({.sessions_max = 1}));
    const SessionId session = table.open_session(at(0s), {.name = "a"});
    EXPECT_TRUE(session);
    EXPECT_FALSE(table.open_session(at(0s), {.name = "b"}));
    EXPECT_EQ(table.counts().sessions, 1U);
    table.end_session(at(0s), session);
    EXPECT_TRUE(table.open_session(at(0s), {.name = "b"}));
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

TEST(LockTable, RefusesNewNamesThatAreNotUtf8) {
    LockTable table;
    EXPECT_EQ(table.acquire(at(0s), ask("\xffjob", "a")).refusal, Refusal::name_not_utf8);
    EXPECT_EQ(table.acquire(at(0s), ask(Scope::path("/\xc3"), "a")).refusal,
              Refusal::name_not_utf8);
    const SetMember members[] = {{.scope = Scope::named("a")}, {.scope = Scope::named("\xff")}};
    AcquireRequest both = ask("a", "a");
    both.members = members;
    const Outcome refused = table.acquire(at(0s), both);
    EXPECT_EQ(refused.refusal, Refusal::name_not_utf8);
    EXPECT_EQ(refused.member, 1U);
    EXPECT_EQ(table
                  .acquire(at(0s), ask("j\xc3\xb6"
                                       "b",
                                       "\xff"))
                  .kind,
              Kind::granted);
}

// Names of earlier versions.
TEST(LockTable, RenewsAndEndsWhatHasANameThatIsNotUtf8) {
    LockTable table;
    const AcquireRequest request = ask("\xffjob", "a");
    ASSERT_TRUE(table.restore(at(0s), remembered(request, 5)));
    const Token token{.fence = fence(5), .secret = request.secret};
    EXPECT_EQ(table.renew(at(1s), {.token = token, .scope = request.scope}).kind, Kind::renewed);
    AcquireRequest again = request;
    again.renew_own = true;
    EXPECT_EQ(table.acquire(at(2s), again).kind, Kind::renewed);
    EXPECT_EQ(table.acquire(at(2s), ask("\xffjob", "b")).refusal, Refusal::name_not_utf8);
    EXPECT_EQ(table.force_release(at(3s), request.scope), 1U);
    EXPECT_EQ(table.acquire(at(3s), again).refusal, Refusal::name_not_utf8);
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

// ---- A door with limits of its own ----

constexpr Door limited_door{3}, other_door{4};

AcquireRequest ask_at(Door door, const char* name, const char* owner) {
    AcquireRequest request = ask(name, owner);
    request.owner.door = door;
    return request;
}

TEST(LockTableDoorLimits, CountTheLocksOfThatDoorAlone) {
    LockTable table({.door_limits = DoorLimits{.door = limited_door, .locks_max = 2}});
    for (const auto* name : {"x", "y", "z"}) {
        ASSERT_EQ(table.acquire(at(0s), ask_at(other_door, name, "o")).kind, Kind::granted);
    }
    const Token a = table.acquire(at(0s), ask_at(limited_door, "a", "l")).lease.token;
    // To wait for a lock of another door's client counts, too.
    ASSERT_EQ(table.acquire(at(0s), queue(ask_at(limited_door, "x", "l"))).kind, Kind::queued);
    EXPECT_EQ(table.acquire(at(0s), ask_at(limited_door, "b", "l")).refusal, Refusal::locks_max);
    EXPECT_EQ(table.acquire(at(0s), queue(ask_at(limited_door, "y", "l"))).refusal,
              Refusal::locks_max);
    EXPECT_EQ(table.acquire(at(0s), ask_at(limited_door, "y", "l")).refusal, Refusal::held);
    EXPECT_EQ(table.acquire(at(0s), queue(ask_at(limited_door, "a", "m"))).kind, Kind::queued)
        << "a lock that the door has already is none more";
    EXPECT_EQ(table.acquire(at(0s), ask_at(other_door, "b", "o")).kind, Kind::granted);
    table.check_invariants();
    table.release(at(1s), {.token = a});  // handed on to another client of the door
    EXPECT_EQ(table.acquire(at(1s), ask_at(limited_door, "c", "l")).refusal, Refusal::locks_max);
    table.force_release(at(1s), Scope::named("a"));
    EXPECT_EQ(table.acquire(at(1s), ask_at(limited_door, "c", "l")).kind, Kind::granted);
    table.check_invariants();
}

TEST(LockTableDoorLimits, CountTheWaitersOfThatDoorAlone) {
    LockTable table({.door_limits = DoorLimits{.door = limited_door, .waiters_per_lock_max = 1}});
    ASSERT_EQ(table.acquire(at(0s), ask_at(limited_door, "k", "h")).kind, Kind::granted);
    for (const auto* owner : {"o", "p", "q"}) {
        ASSERT_EQ(table.acquire(at(0s), queue(ask_at(other_door, "k", owner))).kind, Kind::queued);
    }
    EXPECT_FALSE(table.acquire(at(0s), ask_at(limited_door, "k", "l")).is_queue_full);
    ASSERT_EQ(table.acquire(at(0s), queue(ask_at(limited_door, "k", "l"))).kind, Kind::queued);
    const Outcome tried = table.acquire(at(0s), ask_at(limited_door, "k", "m"));
    EXPECT_EQ(tried.refusal, Refusal::held);
    EXPECT_TRUE(tried.is_queue_full);
    EXPECT_EQ(table.acquire(at(0s), queue(ask_at(limited_door, "k", "m"))).refusal,
              Refusal::waiters_per_lock_max);
    EXPECT_EQ(table.acquire(at(0s), queue(ask_at(other_door, "k", "r"))).kind, Kind::queued);
    EXPECT_FALSE(table.acquire(at(0s), ask_at(other_door, "k", "s")).is_queue_full);
    table.check_invariants();
}

TEST(LockTableDoorLimits, CountRestoredLeases) {
    LockTable table({.door_limits = DoorLimits{.door = limited_door, .locks_max = 1}});
    ASSERT_TRUE(table.restore(at(0s), testing::remembered(ask_at(limited_door, "a", "l"), 5)));
    ASSERT_TRUE(table.restore(at(0s), testing::remembered(ask_at(limited_door, "b", "l"), 6)))
        << "what was granted before the limit was set stays";
    EXPECT_EQ(table.acquire(at(0s), ask_at(limited_door, "c", "l")).refusal, Refusal::locks_max);
    table.check_invariants();
}

TEST(LockTable, KeepsIdleLocksOfOneDoorAlone) {
    LockTable table({.idle_retention = 60s, .idle_door = limited_door});
    const auto use = [&table](core::Time now, AcquireRequest request) {
        const Outcome outcome = table.acquire(now, request);
        EXPECT_EQ(outcome.kind, Kind::granted);
        table.release(now, {.token = outcome.lease.token});
    };
    use(at(0s), ask_at(other_door, "x", "o"));
    EXPECT_EQ(table.counts().locks, 0U);
    AcquireRequest permits = ask(Scope::semaphore("s"), "l");
    permits.owner.door = limited_door;
    permits.limit = 2;
    use(at(0s), permits);
    EXPECT_EQ(table.counts().idle, 1U);
    permits.limit = 3;
    EXPECT_EQ(table.acquire(at(1s), permits).refusal, Refusal::limit_mismatch);
    permits.owner.door = other_door;
    use(at(1s), permits);  // for a client of another door there is no such memory
    EXPECT_EQ(table.counts().locks, 0U);
    table.check_invariants();
}

}  // namespace
}  // namespace holdfast::core
