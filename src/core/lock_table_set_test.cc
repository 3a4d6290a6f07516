// Several locks at once: all or nothing, in turn.

#include <gtest/gtest.h>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

// A set of members that outlives the requests made of it.
class Wanted {
  public:
    Wanted(std::initializer_list<SetMember> members) : members_(members) {}
    // Exclusive locks on names.
    explicit Wanted(std::initializer_list<std::string_view> names) {
        for (const std::string_view name : names) {
            members_.push_back({.scope = Scope::named(name)});
        }
    }

    [[nodiscard]] AcquireRequest by(std::string_view owner) const {
        AcquireRequest request = ask(members_.front().scope, owner);
        request.mode = members_.front().mode;
        request.limit = members_.front().limit;
        request.members = members_;
        return request;
    }
    [[nodiscard]] std::string text() const { return set_to_text(members_); }

  private:
    std::vector<SetMember> members_;
};

std::string holders_of(const LockTable& table, const Scope& scope) {
    std::string names;
    const auto lock = table.inspect(scope);
    if (!lock) return names;
    for (const LeaseView& lease : lock->holders) names.append(lease.owner.name).append(" ");
    return names;
}

const Wanted a_and_b{"a", "b"};
const Wanted b_and_c{"b", "c"};

TEST(LockTableSet, IsOneLeaseOnAllItsScopes) {
    LockTable table;
    const Outcome outcome = table.acquire(at(0s), a_and_b.by("ann"));
    ASSERT_EQ(outcome.kind, Kind::granted);
    EXPECT_EQ(outcome.lease.scope, Scope::named("a"));
    EXPECT_EQ(outcome.lease.members, a_and_b.text());
    const Token token = outcome.lease.token;
    table.check_invariants();
    EXPECT_EQ(take_events(table), Texts{"granted a ann"});
    EXPECT_EQ(table.counts().leases, 1u);
    EXPECT_EQ(table.counts().locks, 2u);
    for (const std::string_view name : {"a", "b"}) {
        const auto lock = table.inspect(Scope::named(name));
        ASSERT_EQ(lock->holders.size(), 1u);
        EXPECT_EQ(lock->holders[0].token, token);
        EXPECT_EQ(lock->holders[0].scope, Scope::named(name));
        EXPECT_EQ(lock->holders[0].members, a_and_b.text());
        EXPECT_EQ(lock->version, 1u);
        EXPECT_EQ(table.acquire(at(0s), ask(name, "bob")).refusal, Refusal::held);
    }
    EXPECT_EQ(table.list_leases({}).size(), 1u);
    EXPECT_EQ(table.list_leases({.on = Scope::named("b")}).size(), 1u);
    EXPECT_EQ(table.list_leases({.on = Scope::named("b")})[0].scope, Scope::named("a"));

    EXPECT_EQ(table.renew(at(1s), {.token = token, .scope = Scope::named("b")}).kind,
              Kind::renewed);
    EXPECT_EQ(table.inspect(Scope::named("b"))->version, 2u);
    EXPECT_EQ(table.renew(at(1s), {.token = token, .scope = Scope::named("c")}).refusal,
              Refusal::unknown_lease);
    EXPECT_EQ(table.release(at(2s), {.token = token}).kind, Kind::released);
    table.check_invariants();
    EXPECT_EQ(table.counts().locks, 0u);
}

TEST(LockTableSet, IsAllOrNothing) {
    LockTable table;
    table.acquire(at(0s), ask("b", "bob"));
    table.clear_changes();
    const Outcome outcome = table.acquire(at(0s), a_and_b.by("ann"));
    EXPECT_EQ(outcome.refusal, Refusal::held);
    EXPECT_EQ(outcome.member, 1u);
    EXPECT_EQ(outcome.lease.owner.name, "bob");
    EXPECT_EQ(table.counts().locks, 1u);  // there is no trace of a
    EXPECT_TRUE(table.changes().empty());
    table.check_invariants();
}

TEST(LockTableSet, StandsInEveryQueueAndHoldsNothing) {
    LockTable table;
    table.acquire(at(0s), ask("b", "bob"));
    const Outcome queued = table.acquire(at(0s), queue(a_and_b.by("ann")));
    ASSERT_EQ(queued.kind, Kind::queued);
    EXPECT_EQ(queued.position, 1u);
    table.check_invariants();
    // Nobody holds a, but nobody overtakes either.
    EXPECT_EQ(holders_of(table, Scope::named("a")), "");
    const Outcome refused = table.acquire(at(0s), ask("a", "cid"));
    EXPECT_EQ(refused.refusal, Refusal::held);
    // The holder of b is nobody's business who asks for a alone: ann is ahead.
    EXPECT_TRUE(refused.is_behind_waiter);
    EXPECT_EQ(refused.lease.owner.name, "ann");
    EXPECT_EQ(refused.lease.scope, Scope::named("a"));
    EXPECT_EQ(refused.lease.token, Token{});
    EXPECT_TRUE(refused.lease.is_endless());
    EXPECT_EQ(table.acquire(at(0s), queue(ask("a", "cid"))).kind, Kind::queued);
    const auto lock = table.inspect(Scope::named("a"));
    ASSERT_EQ(lock->waiters.size(), 2u);
    EXPECT_EQ(lock->waiters[0].blocker.name, "bob");
    EXPECT_EQ(lock->waiters[0].members, a_and_b.text());
    EXPECT_EQ(lock->waiters[1].blocker.name, "ann");
    EXPECT_TRUE(lock->waiters[1].is_blocked_by_waiter);
    EXPECT_EQ(table.counts().waiters, 2u);

    table.clear_changes();
    table.release_own(at(1s), Scope::named("b"), {.name = "bob"});
    table.check_invariants();
    EXPECT_EQ(take_events(table), (Texts{"released b bob", "granted a ann"}));
    table.release_own(at(2s), Scope::named("b"), {.name = "ann"});
    table.check_invariants();
    EXPECT_EQ(take_events(table), (Texts{"released a ann", "granted a cid"}));
}

TEST(LockTableSet, IsGrantedWhenItIsItsTurnEverywhere) {
    LockTable table;
    table.acquire(at(0s), ask("a", "x"));
    table.acquire(at(0s), ask("c", "y"));
    table.acquire(at(0s), queue(a_and_b.by("ann")));  // waits for x
    table.acquire(at(0s), queue(b_and_c.by("bob")));  // waits for y, and behind ann
    table.acquire(at(0s), queue(ask("c", "cid")));    // behind bob
    table.clear_changes();
    table.release_own(at(1s), Scope::named("c"), {.name = "y"});
    table.check_invariants();
    EXPECT_EQ(take_events(table), Texts{"released c y"});  // bob still waits behind ann
    table.release_own(at(1s), Scope::named("a"), {.name = "x"});
    table.check_invariants();
    EXPECT_EQ(take_events(table), (Texts{"released a x", "granted a ann"}));
    table.release_own(at(2s), Scope::named("a"), {.name = "ann"});
    EXPECT_EQ(take_events(table), (Texts{"released a ann", "granted b bob"}));
    table.release_own(at(3s), Scope::named("b"), {.name = "bob"});
    EXPECT_EQ(take_events(table), (Texts{"released b bob", "granted c cid"}));
    table.check_invariants();
}

TEST(LockTableSet, LetsOthersThroughWhenItGivesUp) {
    LockTable table;
    table.acquire(at(0s), ask("b", "bob"));
    const Outcome queued = table.acquire(at(0s), queue(a_and_b.by("ann"), 5s));
    table.acquire(at(0s), queue(ask("a", "cid")));
    table.clear_changes();
    table.advance(at(5s));
    table.check_invariants();
    EXPECT_EQ(take_events(table), (Texts{"wait_timed_out a ann", "granted a cid"}));
    EXPECT_FALSE(table.cancel(at(5s), queued.waiter));

    const Outcome again = table.acquire(at(6s), queue(a_and_b.by("ann")));
    table.clear_changes();
    EXPECT_TRUE(table.cancel(at(6s), again.waiter));
    table.check_invariants();
    EXPECT_EQ(take_events(table), Texts{"wait_cancelled a ann"});
    EXPECT_EQ(table.counts().waiters, 0u);
}

TEST(LockTableSet, HasMembersOfEveryKindAndMode) {
    LockTable table;
    const Wanted mixed{{.scope = Scope::path("/x"), .mode = Mode::shared},
                       {.scope = Scope::semaphore("s"), .mode = Mode::shared, .limit = 2},
                       {.scope = Scope::of_range(7, {0, 10})},
                       {.scope = Scope::of_range(7, {20, 30}), .mode = Mode::shared}};
    ASSERT_EQ(table.acquire(at(0s), mixed.by("ann")).kind, Kind::granted);
    table.check_invariants();
    EXPECT_EQ(table.acquire(at(0s), shared(ask(Scope::path("/x"), "bob"))).kind, Kind::granted);
    AcquireRequest permit = ask(Scope::semaphore("s"), "bob");
    permit.limit = 2;
    EXPECT_EQ(table.acquire(at(0s), permit).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(0s), permit).refusal, Refusal::held);
    EXPECT_EQ(table.acquire(at(0s), ask(Scope::of_range(7, {10, 20}), "bob")).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(0s), shared(ask(Scope::of_range(7, {5, 6}), "bob"))).refusal,
              Refusal::held);
    EXPECT_EQ(table.acquire(at(0s), shared(ask(Scope::of_range(7, {25, 26}), "bob"))).kind,
              Kind::granted);
    EXPECT_EQ(table.acquire(at(0s), queue(mixed.by("cid"))).kind, Kind::queued);
    table.check_invariants();
    EXPECT_EQ(table.force_release(at(0s), Scope::of_inode(7)), 3u);  // ann's set once
    table.check_invariants();
    // The permit of bob is the only one that is taken.
    EXPECT_EQ(holders_of(table, Scope::semaphore("s")), "bob cid ");
    EXPECT_EQ(holders_of(table, Scope::of_inode(7)), "cid cid ");
    EXPECT_EQ(table.list_leases({.on = Scope::of_inode(7)}).size(), 1u);
    EXPECT_EQ(table.inspect(Scope::of_inode(7), 0, {.limit = 1})->holders.size(), 2u);
}

TEST(LockTableSet, RefusesSetsThatMakeNoSense) {
    TableOptions options;
    options.limits.set_members_max = 3;
    LockTable table(options);
    const auto refusal_of = [&](const Wanted& set) {
        const Outcome outcome = table.acquire(at(0s), set.by("ann"));
        return std::string(to_text(outcome.refusal)) + " " + std::to_string(outcome.member);
    };
    EXPECT_EQ(refusal_of(Wanted{"a", "b", "c", "d"}), "set_members_max 0");
    EXPECT_EQ(refusal_of(Wanted{"a", "b", "a"}), "overlapping_set 2");
    EXPECT_EQ(refusal_of(Wanted{"a", ""}), "empty_key 1");
    EXPECT_EQ(refusal_of({{.scope = Scope::named("a")}, {.scope = Scope::of_range(1, {3, 3})}}),
              "empty_range 1");
    EXPECT_EQ(
        refusal_of({{.scope = Scope::named("a")}, {.scope = Scope::semaphore("s"), .limit = 0}}),
        "permits_max 1");
    EXPECT_EQ(table.counts().locks, 0u);
    AcquireRequest permit = ask(Scope::semaphore("s"), "bob");
    permit.limit = 2;
    table.acquire(at(0s), permit);
    EXPECT_EQ(
        refusal_of({{.scope = Scope::named("a")}, {.scope = Scope::semaphore("s"), .limit = 3}}),
        "limit_mismatch 1");
    table.check_invariants();
}

TEST(LockTableSet, OneMemberIsAUsualLease) {
    LockTable table;
    const Outcome outcome = table.acquire(at(0s), Wanted{"a"}.by("ann"));
    EXPECT_EQ(outcome.kind, Kind::granted);
    EXPECT_TRUE(outcome.lease.members.empty());
}

TEST(LockTableSet, ExpiresAndIsKeptInGraceAsOne) {
    LockTable table;
    AcquireRequest request = a_and_b.by("ann");
    request.ttl = 10s;
    request.grace = 5s;
    request.memory = 100s;
    table.acquire(at(0s), request);
    table.acquire(at(1s), queue(ask("b", "bob")));
    table.clear_changes();
    table.advance(at(10s));
    table.check_invariants();
    EXPECT_EQ(take_events(table), Texts{"expired a ann"});
    EXPECT_EQ(table.acquire(at(11s), ask("a", "cid")).refusal, Refusal::in_grace);
    // A part of the set is not the set.
    EXPECT_EQ(table.acquire(at(11s), ask("a", "ann")).refusal, Refusal::in_grace);
    const Outcome again = table.acquire(at(12s), request);
    EXPECT_EQ(again.kind, Kind::granted);
    EXPECT_EQ(again.previous_owner, "ann");
    table.check_invariants();
    EXPECT_EQ(holder(table, "b"), "ann");
    table.clear_changes();
    table.advance(at(27s));
    table.check_invariants();
    EXPECT_EQ(take_events(table), (Texts{"expired a ann", "grace_ended a ann", "granted b bob"}));
    EXPECT_EQ(table.counts().locks, 1u);  // a set leaves no name behind
}

TEST(LockTableSet, IsRenewedByItsOwner) {
    LockTable table;
    AcquireRequest request = a_and_b.by("ann");
    request.renew_own = true;
    const Token token = table.acquire(at(0s), request).lease.token;
    const Outcome renewed = table.acquire(at(5s), request);
    EXPECT_EQ(renewed.kind, Kind::renewed);
    EXPECT_EQ(renewed.lease.token, token);
    EXPECT_EQ(renewed.lease.expires_at, at(35s));
    AcquireRequest part = ask("a", "ann");
    part.renew_own = true;
    EXPECT_EQ(table.acquire(at(6s), part).refusal, Refusal::held);
}

TEST(LockTableSet, EndsWithItsSession) {
    LockTable table;
    const SessionId ann = table.open_session(at(0s), {.name = "ann"});
    const SessionId bob = table.open_session(at(0s), {.name = "bob"});
    table.acquire(at(0s), in(ann, a_and_b.by("ann")));
    table.acquire(at(0s), queue(in(bob, b_and_c.by("bob"))));
    table.acquire(at(0s), queue(ask("c", "cid")));
    EXPECT_EQ(table.list_sessions({})[1].waiters, 1u);
    table.clear_changes();
    table.end_session(at(1s), bob);
    table.check_invariants();
    EXPECT_EQ(take_events(table),
              (Texts{"wait_cancelled b bob", "granted c cid", "session_ended bob"}));
    table.end_session(at(2s), ann);
    table.check_invariants();
    EXPECT_EQ(holders_of(table, Scope::named("b")), "");
}

TEST(LockTableSet, IsEnqueuedInTwoPhases) {
    LockTable table;
    const SessionId ann = table.open_session(at(0s), {.name = "ann"});
    table.acquire(at(0s), ask("b", "bob"));
    EXPECT_EQ(table.enqueue(at(0s), in(ann, a_and_b.by("ann"))).kind, Kind::queued);
    EXPECT_EQ(table.enqueue(at(0s), in(ann, a_and_b.by("ann"))).refusal, Refusal::already_enqueued);
    table.release_own(at(1s), Scope::named("b"), {.name = "bob"});
    table.check_invariants();
    const Outcome granted = table.wait(at(2s), ann, Scope::named("a"), 1s);
    EXPECT_EQ(granted.kind, Kind::granted);
    EXPECT_EQ(granted.lease.members, a_and_b.text());
    table.check_invariants();
}

TEST(LockTableSet, CountsOnceForEachOfItsLocksAgainstTheLimits) {
    TableOptions options;
    options.limits.leases_max = 5;
    options.limits.locks_max = 4;
    options.limits.waiters_max = 2;
    LockTable table(options);
    EXPECT_EQ(table.acquire(at(0s), a_and_b.by("ann")).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(0s), (Wanted{"c", "d", "e"}).by("bob")).refusal, Refusal::locks_max);
    EXPECT_EQ(table.acquire(at(0s), queue(b_and_c.by("bob"))).kind, Kind::queued);
    EXPECT_EQ(table.acquire(at(0s), queue(ask("a", "cid"))).refusal, Refusal::waiters_max);
    EXPECT_EQ(table.acquire(at(0s), ask("d", "bob")).kind, Kind::granted);
    EXPECT_EQ(table.acquire(at(0s), ask("e", "bob")).refusal, Refusal::leases_max);
    table.check_invariants();
}

TEST(LockTableSet, DoesNotDropItsOwnIdleLocksToMakeRoom) {
    TableOptions options;
    options.limits.locks_max = 2;
    options.idle_retention = 100s;
    LockTable table(options);
    const Token token = table.acquire(at(0s), ask("b", "ann")).lease.token;
    table.release(at(0s), {.token = token});
    const Token other = table.acquire(at(0s), ask("c", "ann")).lease.token;
    table.release(at(0s), {.token = other});
    EXPECT_EQ(table.acquire(at(1s), a_and_b.by("ann")).kind, Kind::granted);  // c makes room
    table.check_invariants();
    EXPECT_FALSE(table.inspect(Scope::named("c")));
    EXPECT_EQ(table.inspect(Scope::named("b"))->version, 3u);
    EXPECT_EQ(table.acquire(at(1s), b_and_c.by("bob")).refusal, Refusal::held);
    EXPECT_EQ(table.acquire(at(1s), queue(b_and_c.by("bob"))).refusal, Refusal::locks_max);
    table.check_invariants();
}

TEST(LockTableSet, IsRestored) {
    LockTable table;
    const Wanted set{{.scope = Scope::semaphore("s"), .limit = 2},
                     {.scope = Scope::of_range(7, {0, 10})},
                     {.scope = Scope::of_range(7, {10, 20})}};
    ASSERT_TRUE(table.restore(at(0s), testing::remembered(set.by("ann"), 5)));
    table.check_invariants();
    EXPECT_FALSE(
        table.restore(at(0s), testing::remembered(ask(Scope::of_range(7, {3, 4}), "bob"), 6)));
    EXPECT_FALSE(table.restore(at(0s), testing::remembered((Wanted{"a", "a"}).by("bob"), 6)));
    RestoreRequest in_grace = testing::remembered(a_and_b.by("bob"), 3);
    in_grace.grace = 10s;
    in_grace.is_in_grace = true;
    ASSERT_TRUE(table.restore(at(0s), in_grace));
    table.check_invariants();
    EXPECT_EQ(table.inspect(Scope::of_inode(7))->holders.size(), 2u);
    EXPECT_EQ(table.acquire(at(0s), ask("b", "cid")).refusal, Refusal::in_grace);
    const Outcome found = table.find({.fence = fence(5), .secret = Secret{0x5ec2e7}});
    EXPECT_EQ(found.lease.members, set.text());
    table.start_restored(at(5s));
    table.advance(at(60s));
    table.check_invariants();
    EXPECT_EQ(table.counts().locks, 0u);
}

// A long chain of sets, each behind the one before in one queue: no recursion.
TEST(LockTableSet, MovesUpInLongChains) {
    LockTable table;
    std::vector<std::string> names;
    for (int number = 0; number <= 20'000; ++number) names.push_back("n" + std::to_string(number));
    std::vector<Wanted> sets;
    for (std::size_t index = 0; index + 1 < names.size(); ++index) {
        sets.push_back(Wanted{{.scope = Scope::named(names[index])},
                              {.scope = Scope::named(names[index + 1])}});
    }
    table.acquire(at(0s), ask("n0", "first"));
    for (std::size_t index = 0; index < sets.size(); ++index) {
        table.acquire(at(0s), queue(sets[index].by(names[index]), 10s));
    }
    table.clear_changes();
    advance_fully(table, at(10s));  // all of them time out together
    EXPECT_EQ(table.counts().waiters, 0u);
    EXPECT_EQ(table.changes().size(), sets.size());
    table.check_invariants();
}

}  // namespace
}  // namespace holdfast::core
