// Clients that wait for each other.

#include <gtest/gtest.h>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

// The deadlocks that were told since the last time, as people read them.
Texts take_deadlocks(LockTable& table) {
    Texts texts;
    for (const Event& event : table.changes()) {
        if (event.kind == EventKind::deadlock) {
            texts.push_back(describe_cycle(*parse_cycle(event.cycle)));
        }
    }
    table.clear_changes();
    table.check_invariants();
    return texts;
}

Texts list(const LockTable& table) {
    Texts texts;
    for (const Cycle& cycle : table.list_deadlocks().cycles) {
        texts.push_back(describe_cycle(*parse_cycle(cycle.text)));
    }
    return texts;
}

AcquireRequest by(std::string_view waiter, AcquireRequest request) {
    request.notes.waiter = waiter;
    return request;
}

AcquireRequest permit(std::string_view owner, std::uint32_t limit) {
    AcquireRequest request = ask(Scope::semaphore("s"), owner);
    request.limit = limit;
    return request;
}

TEST(LockTableDeadlock, IsToldWhenTwoTakeTwoLocksCrosswise) {
    LockTable table;
    table.acquire(at(0s), ask("a", "ann"));
    table.acquire(at(0s), ask("b", "bob"));
    table.acquire(at(1s), queue(ask("b", "ann")));
    EXPECT_EQ(take_deadlocks(table), Texts{});
    const Outcome outcome = table.acquire(at(2s), queue(ask("a", "bob")));
    EXPECT_EQ(outcome.kind, Kind::queued);
    const Texts cycle{"bob waits for a of ann, ann waits for b of bob"};
    EXPECT_EQ(take_deadlocks(table), cycle);
    EXPECT_EQ(list(table), cycle);
    EXPECT_EQ(table.list_deadlocks().cycles[0].since, at(2s));
    table.cancel(at(3s), outcome.waiter);
    EXPECT_EQ(list(table), Texts{});
}

TEST(LockTableDeadlock, IsRefusedIfTheRequestWantsThat) {
    LockTable table;
    table.acquire(at(0s), ask("a", "ann"));
    table.acquire(at(0s), ask("b", "bob"));
    table.acquire(at(1s), queue(ask("b", "ann")));
    table.clear_changes();
    AcquireRequest request = queue(ask("a", "bob"));
    request.on_deadlock = OnDeadlock::refuse;
    const Outcome outcome = table.acquire(at(2s), request);
    EXPECT_EQ(outcome.refusal, Refusal::deadlock);
    const auto cycle = parse_cycle(outcome.cycle);
    ASSERT_EQ(cycle->size(), 2u);
    EXPECT_EQ((*cycle)[0].owner.name, "bob");
    EXPECT_EQ((*cycle)[0].waits_for, Scope::named("a"));
    EXPECT_EQ((*cycle)[0].fence, fence(1));
    EXPECT_EQ(table.counts().waiters, 1u);
    EXPECT_EQ(take_events(table), Texts{"deadlock a bob"});
    EXPECT_EQ(list(table), Texts{});
    table.check_invariants();
}

TEST(LockTableDeadlock, IsSeenThroughManyClients) {
    LockTable table;
    const Texts names{"a", "b", "c", "d", "e"};
    for (const std::string& name : names) table.acquire(at(0s), ask(name, name));
    for (std::size_t index = 0; index + 1 < names.size(); ++index) {
        table.acquire(at(0s), queue(ask(names[index + 1], names[index])));
    }
    EXPECT_EQ(take_deadlocks(table), Texts{});
    table.acquire(at(0s), queue(ask("a", "e")));
    EXPECT_EQ(
        take_deadlocks(table),
        Texts{"e waits for a of a, a waits for b of b, b waits for c of c, c waits for d of d, "
              "d waits for e of e"});
    EXPECT_EQ(list(table).size(), 1u);
}

TEST(LockTableDeadlock, NeedsMoreThanOneClient) {
    LockTable table;
    table.acquire(at(0s), ask("a", "ann"));
    table.acquire(at(0s), queue(ask("a", "ann")));
    // Others between the two do not change that: ann asks again for what she has.
    table.acquire(at(0s), queue(ask("a", "bob")));
    table.acquire(at(0s), queue(ask("a", "ann")));
    table.acquire(at(0s), queue(ask("a", "bob")));
    EXPECT_EQ(take_deadlocks(table), Texts{});
    EXPECT_EQ(list(table), Texts{});
}

TEST(LockTableDeadlock, TellsThreadsOfAnOwnerApart) {
    LockTable table;
    table.acquire(at(0s), by("1", ask("a", "ann")));
    table.acquire(at(0s), by("2", ask("b", "ann")));
    table.acquire(at(0s), by("3", queue(ask("b", "ann"))));  // another thread waits
    table.acquire(at(0s), by("2", queue(ask("a", "ann"))));
    EXPECT_EQ(take_deadlocks(table), Texts{});
    table.acquire(at(0s), by("1", queue(ask("b", "ann"))));
    const Texts told = take_deadlocks(table);
    EXPECT_EQ(told.size(), 1u);
    const auto deadlocks = table.list_deadlocks().cycles;
    const auto cycle = parse_cycle(deadlocks[0].text);
    EXPECT_EQ((*cycle)[0].waiter, "1");
    EXPECT_EQ((*cycle)[1].waiter, "2");
}

TEST(LockTableDeadlock, IsOfSessionsIfThereAreAny) {
    LockTable table;
    const SessionId one = table.open_session(at(0s), {.name = "c"});
    const SessionId two = table.open_session(at(0s), {.name = "c"});
    table.acquire(at(0s), in(one, ask("a", "c")));
    table.acquire(at(0s), in(two, ask("b", "c")));
    table.acquire(at(0s), in(one, queue(ask("b", "c"))));
    table.acquire(at(0s), in(two, queue(ask("a", "c"))));
    EXPECT_EQ(take_deadlocks(table).size(), 1u);
    table.end_session(at(1s), two);
    EXPECT_EQ(list(table), Texts{});
    table.check_invariants();
}

TEST(LockTableDeadlock, KeepsTrackOfLeasesThatOutliveTheirSession) {
    LockTable table;
    const SessionId ann = table.open_session(at(0s), {.name = "ann"});
    table.acquire(at(0s), in(ann, ask("a", "ann")));
    table.acquire(at(0s), queue(ask("a", "bob")));
    table.end_session(at(1s), ann, LockTable::SessionLeases::keep);
    table.check_invariants();
    table.acquire(at(1s), ask("b", "bob"));
    table.acquire(at(1s), queue(ask("b", "ann")));
    EXPECT_EQ(take_deadlocks(table).size(), 1u);
}

TEST(LockTableDeadlock, IsNoneWhileOnePermitMayBecomeFree) {
    LockTable table;
    table.acquire(at(0s), permit("ann", 2));
    table.acquire(at(0s), permit("cid", 2));
    table.acquire(at(0s), ask("b", "bob"));
    table.acquire(at(0s), queue(ask("b", "ann")));
    table.acquire(at(0s), queue(permit("bob", 2)));  // cid is free
    EXPECT_EQ(take_deadlocks(table), Texts{});
    table.acquire(at(1s), queue(ask("b", "cid")));  // now both permits wait for bob
    EXPECT_EQ(take_deadlocks(table),
              Texts{"cid waits for b of bob, bob waits for semaphore:s of cid"});
    EXPECT_EQ(list(table).size(), 2u);  // bob and ann as well
}

TEST(LockTableDeadlock, IsSeenThroughEarlierWaiters) {
    LockTable table;
    // bob holds x and waits behind ann's set, which waits for x.
    const std::vector<SetMember> members{{.scope = Scope::named("s")},
                                         {.scope = Scope::named("x")}};
    table.acquire(at(0s), ask("x", "bob"));
    AcquireRequest set = queue(ask("s", "ann"));
    set.members = members;
    table.acquire(at(0s), set);
    EXPECT_EQ(take_deadlocks(table), Texts{});
    table.acquire(at(0s), queue(ask("s", "bob")));
    EXPECT_EQ(take_deadlocks(table), Texts{"bob waits for s of ann, ann waits for x of bob"});
    const auto deadlocks = table.list_deadlocks().cycles;
    EXPECT_EQ((*parse_cycle(deadlocks[0].text))[0].fence, Fence{});  // ann only stands ahead
}

TEST(LockTableDeadlock, IsSeenOnPartsOfOneInode) {
    LockTable table;
    table.acquire(at(0s), ask(Scope::of_range(7, {0, 10}), "ann"));
    table.acquire(at(0s), ask(Scope::of_range(7, {50, 60}), "bob"));
    table.acquire(at(0s), queue(ask(Scope::of_range(7, {55, 56}), "ann")));
    EXPECT_EQ(take_deadlocks(table), Texts{});
    table.acquire(at(0s), queue(ask(Scope::of_range(7, {5, 6}), "bob")));
    EXPECT_EQ(take_deadlocks(table).size(), 1u);
}

TEST(LockTableDeadlock, IsNoneIfALeaseIsInGrace) {
    LockTable table;
    AcquireRequest request = ask("a", "ann");
    request.ttl = 1s;
    request.grace = 10s;
    table.acquire(at(0s), request);
    table.acquire(at(0s), ask("b", "bob"));
    table.acquire(at(2s), queue(ask("b", "ann")));
    table.acquire(at(2s), queue(ask("a", "bob")));
    EXPECT_EQ(take_deadlocks(table), Texts{});
}

TEST(LockTableDeadlock, IsNotLookedForBeyondTheLimit) {
    TableOptions options;
    options.limits.deadlock_steps_max = 3;
    LockTable table(options);
    const Texts names{"a", "b", "c", "d", "e"};
    for (const std::string& name : names) table.acquire(at(0s), ask(name, name));
    for (std::size_t index = 0; index < names.size(); ++index) {
        table.acquire(at(0s), queue(ask(names[(index + 1) % names.size()], names[index])));
    }
    EXPECT_EQ(take_deadlocks(table), Texts{});
}

// Many clients with one name are not one client, and cost nothing: ten thousand of them wait for two
// locks, and nobody walks through these queues.
TEST(LockTableDeadlock, IsNotLookedForInACrowd) {
    LockTable table;
    table.acquire(at(0s), ask("a", "worker"));
    table.acquire(at(0s), ask("b", "worker"));
    table.acquire(at(0s), ask("c", "ann"));
    std::vector<WaiterId> waiters;
    for (int number = 0; number < 10'000; ++number) {
        const std::string_view name = number % 2 == 0 ? "a" : "b";
        waiters.push_back(table.acquire(at(0s), queue(ask(name, "worker"))).waiter);
    }
    table.clear_changes();
    table.acquire(at(0s), queue(ask("c", "worker")));
    table.acquire(at(0s), queue(ask("a", "ann")));
    EXPECT_EQ(take_deadlocks(table), Texts{});
    for (const WaiterId waiter : waiters) table.cancel(at(0s), waiter);
    table.check_invariants();
    EXPECT_EQ(list(table), Texts{});
}

TEST(LockTableDeadlock, OfOthersIsNotToldAgain) {
    LockTable table;
    table.acquire(at(0s), ask("a", "ann"));
    table.acquire(at(0s), ask("b", "bob"));
    table.acquire(at(0s), ask("c", "cid"));
    table.acquire(at(0s), queue(ask("c", "dan")));
    table.acquire(at(1s), queue(ask("b", "ann")));
    table.acquire(at(2s), queue(ask("a", "bob")));
    table.clear_changes();
    table.acquire(at(3s), queue(ask("a", "cid")));
    EXPECT_EQ(take_deadlocks(table), Texts{});
}

// A chain of very many clients without a cycle, and two of them that wait for each other: one search
// looks at each once.
TEST(LockTableDeadlock, IsListedWithoutLookingAtAllWaitersAgainAndAgain) {
    LockTable table;
    constexpr int many = 20'000;
    const auto number = [](int i) { return "c" + std::to_string(i); };
    for (const std::string_view pair : {"x", "y"}) table.acquire(at(0s), ask(pair, pair));
    for (int i = 0; i < many; ++i) table.acquire(at(0s), ask(number(i), number(i)));
    table.acquire(at(1s), queue(ask("y", "x")));
    table.acquire(at(1s), queue(ask("x", "y")));
    for (int i = 0; i + 1 < many; ++i) table.acquire(at(1s), queue(ask(number(i + 1), number(i))));
    const std::uint64_t before = table.visited();
    const Deadlocks deadlocks = table.list_deadlocks();
    EXPECT_LE(table.visited() - before, 2 * Limits{}.deadlock_steps_max);
    EXPECT_TRUE(deadlocks.is_cut);
    ASSERT_EQ(deadlocks.cycles.size(), 1U);
    EXPECT_EQ(describe_cycle(*parse_cycle(deadlocks.cycles[0].text)),
              "y waits for x of x, x waits for y of y");
}

TEST(LockTableDeadlock, IsListedAtTheEndOfALongChain) {
    LockTable table;
    constexpr int many = 1000;
    const auto number = [](int i) { return "c" + std::to_string(i); };
    for (int i = 0; i < many; ++i) table.acquire(at(0s), ask(number(i), number(i)));
    for (int i = 0; i + 1 < many; ++i) table.acquire(at(1s), queue(ask(number(i + 1), number(i))));
    table.acquire(at(2s), queue(ask(number(many - 2), number(many - 1))));
    const Deadlocks deadlocks = table.list_deadlocks();
    EXPECT_FALSE(deadlocks.is_cut);
    ASSERT_EQ(deadlocks.cycles.size(), 1U);
    EXPECT_EQ(describe_cycle(*parse_cycle(deadlocks.cycles[0].text)),
              "c999 waits for c998 of c998, c998 waits for c999 of c999");
}

// Sixty-five waits under one name are many clients, but each of their sets waits for all its scopes.
TEST(LockTableDeadlock, IsNotSeenBehindTheSetsOfACrowd) {
    const std::vector<SetMember> members{{.scope = Scope::named("a"), .mode = Mode::shared},
                                         {.scope = Scope::named("z")}};
    LockTable table;
    const Token z = table.acquire(at(0s), ask("z", "free")).lease.token;
    table.acquire(at(0s), shared(ask("a", "hal")));
    table.acquire(at(0s), ask("q", "wim"));
    table.acquire(at(1s), queue(ask("q", "hal")));
    AcquireRequest set = queue(shared(ask("a", "crowd")));
    set.members = members;
    for (std::uint32_t i = 0; i < crowd_waiters_min; ++i) table.acquire(at(1s), set);
    AcquireRequest last = queue(shared(ask("a", "wim")));
    last.on_deadlock = OnDeadlock::refuse;
    EXPECT_EQ(table.acquire(at(2s), last).kind, Kind::queued);
    table.check_invariants();
    EXPECT_TRUE(table.list_deadlocks().cycles.empty());
    table.release(at(3s), {.token = z});
    table.check_invariants();
}

}  // namespace
}  // namespace holdfast::core
