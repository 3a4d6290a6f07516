// Long work in parts: what clients see while the table is behind.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

// A table that handles one or two records in a part.
constexpr std::uint64_t few = 4;

std::string name(int number) {
    return "c" + std::to_string(number);
}

// Twenty leases have expired together, and only some of them were handled.
void fall_behind(LockTable& table) {
    for (int i = 0; i < 20; ++i) table.acquire(at(0s), ask(name(i), "a"));
    table.clear_changes();
    table.advance(at(30s));
    ASSERT_TRUE(table.is_behind());
}

TEST(LockTableParts, EndLeasesInTheOrderOfTheirDeadlines) {
    LockTable table({.visits_max = few});
    fall_behind(table);
    EXPECT_LE(table.next_deadline().value(), at(30s));
    EXPECT_GT(advance_fully(table, at(30s)), 5);
    Texts expected;
    for (int i = 0; i < 20; ++i) expected.push_back("expired " + name(i) + " a");
    EXPECT_EQ(take_events(table), expected);
    EXPECT_EQ(table.counts().locks, 0U);
    EXPECT_FALSE(table.next_deadline());
    table.check_invariants();
}

TEST(LockTableParts, ALeaseThatIsDueCannotBeRenewedReleasedOrFound) {
    LockTable table({.visits_max = few});
    for (int i = 0; i < 20; ++i) table.acquire(at(0s), ask(name(i), "a"));
    const Token token = table.acquire(at(0s), ask("last", "a")).lease.token;
    table.advance(at(30s));
    ASSERT_TRUE(table.is_behind());
    EXPECT_EQ(table.find(token).refusal, Refusal::lease_ended);
    EXPECT_EQ(table.renew(at(30s), {.token = token}).refusal, Refusal::lease_ended);
    EXPECT_EQ(table.set_value(at(30s), {.token = token, .value = "v"}).refusal,
              Refusal::lease_ended);
    EXPECT_EQ(table.release(at(30s), {.token = token}).refusal, Refusal::lease_ended);
    EXPECT_TRUE(table.is_behind());
    table.check_invariants();
}

TEST(LockTableParts, ALeaseThatIsDueIsInNobodysWay) {
    LockTable table({.visits_max = few});
    fall_behind(table);
    EXPECT_TRUE(table.list_leases({}).empty());
    EXPECT_FALSE(table.find_in_the_way(Scope::named(name(19)), Mode::exclusive));
    EXPECT_EQ(table.find_holder(Scope::named(name(18))).refusal, Refusal::unknown_lease);
    ASSERT_TRUE(table.is_behind());
    EXPECT_EQ(table.acquire(at(30s), ask(name(19), "b")).kind, Kind::granted);
    const std::vector<std::string> texts{name(17), name(16)};
    AcquireRequest set = ask(texts[0], "c");
    const std::vector<SetMember> members{{.scope = Scope::named(texts[0])},
                                         {.scope = Scope::named(texts[1])}};
    set.members = members;
    EXPECT_EQ(table.acquire(at(30s), set).kind, Kind::granted);
    table.check_invariants();
    advance_fully(table, at(30s));
    EXPECT_EQ(table.counts().leases, 2U);
    table.check_invariants();
}

TEST(LockTableParts, TheOwnerOfALeaseThatIsDueHasItAgainInItsGraceOnly) {
    for (const Duration late : {Duration{0}, Duration{5s}}) {
        LockTable table({.visits_max = few});
        for (int i = 0; i < 20; ++i) table.acquire(at(0s), ask(name(i), "a"));
        AcquireRequest request = ask("doc", "laptop");
        request.grace = 5s;
        request.renew_own = true;
        table.acquire(at(0s), request);
        table.advance(at(30s) + late);
        ASSERT_TRUE(table.is_behind());
        EXPECT_EQ(table.find_holder(Scope::named("doc")).kind,
                  late == Duration{0} ? Kind::found : Kind::refused);
        AcquireRequest other = ask("doc", "other");
        const Outcome outcome = table.acquire(at(30s) + late, other);
        if (late == Duration{0}) {
            EXPECT_EQ(outcome.refusal, Refusal::in_grace);
            EXPECT_EQ(table.acquire(at(30s), request).previous_owner, "laptop");
        } else {
            EXPECT_EQ(outcome.kind, Kind::granted);
        }
        advance_fully(table, at(30s) + late);
        table.check_invariants();
    }
}

TEST(LockTableParts, AnEntryWhoseLeaseIsDueHasExpired) {
    LockTable table({.visits_max = few});
    const SessionId session = table.open_session(at(0s), {.name = "tcp"});
    for (int i = 0; i < 20; ++i) table.acquire(at(0s), ask(name(i), "a"));
    table.enqueue(at(0s), in(session, ask("job", "b")));
    table.enqueue(at(0s), in(session, ask("other", "b")));
    table.advance(at(30s));
    ASSERT_TRUE(table.is_behind());
    EXPECT_EQ(table.wait(at(30s), session, Scope::named("job"), 1s).refusal, Refusal::lease_ended);
    EXPECT_EQ(table.enqueue(at(30s), in(session, ask("other", "b"))).kind, Kind::granted);
    advance_fully(table, at(30s));
    table.check_invariants();
}

// A crowd waits behind one holder. They are all served, in their order, and nobody comes in between.
TEST(LockTableParts, NobodyOvertakesWhileAQueueMovesUp) {
    LockTable table({.visits_max = few});
    const Token token = table.acquire(at(0s), ask("doc", "first")).lease.token;
    for (int i = 0; i < 20; ++i) table.acquire(at(0s), queue(shared(ask("doc", name(i)))));
    EXPECT_EQ(table.release(at(1s), {.token = token}).kind, Kind::released);
    ASSERT_TRUE(table.is_behind());
    const Outcome refused = table.acquire(at(1s), shared(ask("doc", "late")));
    EXPECT_EQ(refused.refusal, Refusal::held);
    EXPECT_EQ(table.acquire(at(1s), queue(shared(ask("doc", "late")))).kind, Kind::queued);
    EXPECT_EQ(table.acquire(at(1s), queue(ask("doc", "later"))).kind, Kind::queued);
    ASSERT_TRUE(table.inspect(Scope::named("doc")).has_value());
    table.check_invariants();
    advance_fully(table, at(1s));
    table.check_invariants();
    const auto lock = table.inspect(Scope::named("doc"));
    ASSERT_EQ(lock->holders.size(), 21U);
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(lock->holders[static_cast<std::size_t>(i)].owner.name, name(i));
    }
    EXPECT_EQ(lock->holders[20].owner.name, "late");
    ASSERT_EQ(lock->waiters.size(), 1U);
    EXPECT_EQ(lock->waiters[0].owner.name, "later");
}

TEST(LockTableParts, RangesMoveUpInTheirOrder) {
    LockTable table({.visits_max = few});
    const Scope whole = Scope::of_inode(7);
    const Token token = table.acquire(at(0s), ask(whole, "first")).lease.token;
    for (int i = 0; i < 20; ++i) {
        const auto start = static_cast<std::uint64_t>(i) * 10;
        table.acquire(at(0s), queue(ask(Scope::of_range(7, {start, start + 10}), name(i))));
    }
    table.release(at(1s), {.token = token});
    ASSERT_TRUE(table.is_behind());
    EXPECT_EQ(table.acquire(at(1s), ask(Scope::of_range(7, {195, 196}), "late")).refusal,
              Refusal::held);
    table.check_invariants();
    advance_fully(table, at(1s));
    table.check_invariants();
    EXPECT_EQ(table.inspect(whole)->holders.size(), 20U);
}

TEST(LockTableParts, AWaiterWhoseTimeIsOverIsNotServedLater) {
    LockTable table({.visits_max = few});
    const Token token = table.acquire(at(0s), ask("doc", "first")).lease.token;
    for (int i = 0; i < 20; ++i) {
        table.acquire(at(0s), queue(shared(ask("doc", name(i))), i < 10 ? 60s : Duration{2s}));
    }
    table.release(at(1s), {.token = token});
    advance_fully(table, at(2s));
    EXPECT_LE(table.inspect(Scope::named("doc"))->holders.size(), 20U);
    for (const LeaseView& lease : table.list_leases({.limit = 100})) {
        EXPECT_TRUE(lease.acquired_at < at(2s) || lease.owner.name.size() == 2) << lease.owner.name;
    }
    table.check_invariants();
}

TEST(LockTableParts, ASessionThatIsEndingIsGrantedNothing) {
    LockTable table({.visits_max = few});
    const SessionId session = table.open_session(at(0s), {.name = "tcp"});
    std::vector<Token> tokens;
    for (int i = 0; i < 20; ++i) {
        tokens.push_back(table.acquire(at(0s), ask(name(i), "other")).lease.token);
        table.acquire(at(0s), in(session, queue(ask(name(i), "s"))));
        table.acquire(at(0s), in(session, ask("mine" + name(i), "s")));
    }
    EXPECT_FALSE(table.end_session_part(at(1s), session, LockTable::SessionLeases::release));
    table.check_invariants();
    EXPECT_FALSE(table.has_session(session));
    EXPECT_EQ(table.acquire(at(1s), in(session, ask("more", "s"))).refusal,
              Refusal::unknown_session);
    table.clear_changes();
    for (const Token token : tokens) table.release(at(1s), {.token = token});
    int parts = 1;
    for (; !table.end_session_part(at(1s), session, LockTable::SessionLeases::release); ++parts) {
    }
    EXPECT_GT(parts, 5);
    for (const std::string& event : take_events(table)) {
        EXPECT_FALSE(event.starts_with("granted")) << event;
    }
    advance_fully(table, at(1s));
    EXPECT_EQ(table.counts().leases, 0U);
    EXPECT_EQ(table.counts().waiters, 0U);
    EXPECT_EQ(table.counts().sessions, 0U);
    table.check_invariants();
}

TEST(LockTableParts, ASessionMayLeaveItsLeasesInParts) {
    LockTable table({.visits_max = few});
    const SessionId session = table.open_session(at(0s), {.name = "tcp"});
    for (int i = 0; i < 20; ++i) table.acquire(at(0s), in(session, ask(name(i), "s")));
    int parts = 1;
    for (; !table.end_session_part(at(1s), session, LockTable::SessionLeases::keep); ++parts) {
        table.check_invariants();
    }
    EXPECT_GT(parts, 5);
    EXPECT_EQ(table.counts().leases, 20U);
    EXPECT_EQ(table.counts().sessions, 0U);
    table.check_invariants();
}

// Whoever is granted the lock while it is being released by force keeps it.
TEST(LockTableParts, AForcedReleaseEndsWhatWasThereWhenItBegan) {
    LockTable table({.visits_max = few});
    for (int i = 0; i < 20; ++i) table.acquire(at(0s), shared(ask("doc", name(i))));
    LockTable::ForcedEnd progress;
    EXPECT_FALSE(table.force_release_part(at(1s), Scope::named("doc"), progress));
    EXPECT_EQ(table.acquire(at(1s), shared(ask("doc", "late"))).kind, Kind::granted);
    while (!table.force_release_part(at(1s), Scope::named("doc"), progress)) {
    }
    EXPECT_EQ(progress.count, 20U);
    EXPECT_EQ(holder(table, "doc"), "late");
    table.check_invariants();
}

// However small the parts are, each gets on.
TEST(LockTableParts, AForcedReleaseGetsOnInTheSmallestParts) {
    LockTable table({.visits_max = 1});
    for (int i = 0; i < 10; ++i) {
        const auto start = static_cast<std::uint64_t>(i) * 10;
        table.acquire(at(0s), ask(Scope::of_range(7, {start, start + 10}), name(i)));
    }
    LockTable::ForcedEnd progress;
    int parts = 1;
    while (!table.force_release_part(at(1s), Scope::of_range(7, {60, 75}), progress)) {
        ASSERT_LT(++parts, 100);
    }
    EXPECT_EQ(progress.count, 2U);
}

TEST(LockTableParts, AForcedReleaseOfRangesPassesOverOthers) {
    LockTable table({.visits_max = few});
    for (int i = 0; i < 40; ++i) {
        const auto start = static_cast<std::uint64_t>(i) * 10;
        table.acquire(at(0s), ask(Scope::of_range(7, {start, start + 10}), name(i)));
    }
    EXPECT_EQ(table.force_release(at(1s), Scope::of_range(7, {100, 205})), 11U);
    EXPECT_EQ(table.inspect(Scope::of_inode(7))->holders.size(), 29U);
    table.check_invariants();
}

// While a step is under way nothing else happens, although something is due.
TEST(LockTableParts, AStepIsNotCut) {
    LockTable table({.visits_max = few});
    fall_behind(table);
    table.clear_changes();
    {
        const LockTable::OneStep one(table);
        for (int i = 0; i < 5; ++i) table.acquire(at(30s), ask("n" + name(i), "b"));
        EXPECT_EQ(table.acquire(at(30s), ask(name(19), "b")).kind, Kind::granted);
    }
    const Changes& changes = table.changes();
    ASSERT_EQ(changes.size(), 7U);
    for (std::size_t index = 1; index < changes.size(); ++index) {
        EXPECT_FALSE(changes[index].begins_step) << index;
    }
    table.acquire(at(30s), ask("next", "b"));
    EXPECT_TRUE(changes.last().begins_step || changes[7].begins_step);
    advance_fully(table, at(30s));
    table.check_invariants();
}

// A lock with more holders and waiters than can be settled at once.
TEST(LockTableParts, SaysWhatIsTooMuchToSettle) {
    LockTable table({.visits_max = 64});
    for (int i = 0; i < 20; ++i) table.acquire(at(0s), shared(ask("doc", name(i))));
    table.acquire(at(0s), ask("small", "a"));
    EXPECT_TRUE(table.is_too_much_to_settle(Scope::named("doc")));
    EXPECT_FALSE(table.is_too_much_to_settle(Scope::named("small")));
    EXPECT_FALSE(table.is_too_much_to_settle(Scope::named("nothing")));
    EXPECT_TRUE(table.has_crowded());
    AcquireRequest set = ask("small", "b");
    const std::vector<SetMember> members{{.scope = Scope::named("small")},
                                         {.scope = Scope::named("doc")}};
    set.members = members;
    EXPECT_TRUE(table.is_too_much_to_settle(set));
    table.force_release(at(0s), Scope::named("doc"));
    EXPECT_FALSE(table.has_crowded());
}

}  // namespace
}  // namespace holdfast::core
