// What a single call costs, however much clients have piled up: records that it looks at are counted,
// not time.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"
#include "core/values/turn_limits.h"

namespace holdfast::core {
namespace {

using namespace testing;

constexpr int very_many = 100'000;

// How many records a call looks at.
template <class Call>
std::uint64_t visits_of(const LockTable& table, const Call& call) {
    const std::uint64_t before = table.visited();
    call();
    return table.visited() - before;
}

std::string name(int number) {
    return "c" + std::to_string(number);
}

TEST(LockTableCost, OfAnOwnerAmongTheHoldersOfASharedLock) {
    LockTable table;
    for (int i = 0; i < very_many; ++i) table.acquire(at(0s), shared(ask("n", name(i))));
    const std::string youngest = name(very_many - 1);
    AcquireRequest again = shared(ask("n", youngest));
    again.renew_own = true;
    Outcome outcome;
    EXPECT_LT(visits_of(table, [&] { outcome = table.acquire(at(1s), again); }), visits_max);
    EXPECT_EQ(outcome.kind, Kind::renewed);
    again.owner.name = "a stranger";
    EXPECT_LT(visits_of(table, [&] { outcome = table.acquire(at(1s), again); }), visits_max);
    EXPECT_EQ(outcome.kind, Kind::granted);
    const auto release = [&](std::string_view owner) {
        return visits_of(table, [&] {
            outcome = table.release_own(at(1s), Scope::named("n"), {.name = owner});
        });
    };
    EXPECT_LT(release("somebody else"), visits_max);
    EXPECT_EQ(outcome.refusal, Refusal::unknown_lease);
    EXPECT_LT(release(name(very_many / 2)), visits_max);
    EXPECT_EQ(outcome.kind, Kind::released);
    const AcquireRequest exclusive = ask("n", "late");
    EXPECT_LT(visits_of(table, [&] { outcome = table.acquire(at(1s), queue(exclusive)); }),
              visits_max);
    EXPECT_EQ(outcome.kind, Kind::queued);
    EXPECT_LT(visits_of(table, [&] { EXPECT_FALSE(table.has_own(exclusive)); }), visits_max);
    table.check_invariants();
}

// One owner has all permits: they all look alike to who asks again.
TEST(LockTableCost, OfAnOwnerWithVeryManyPermits) {
    LockTable table;
    AcquireRequest permit = ask(Scope::semaphore("s"), "ann");
    permit.limit = very_many;
    permit.ttl = 30s;
    permit.grace = 60s;
    for (int i = 0; i < very_many - 1; ++i) table.acquire(at(0s), permit);
    permit.ttl = 10s;
    const Token last = table.acquire(at(0s), permit).lease.token;
    table.advance(at(11s));  // the youngest is in grace
    EXPECT_EQ(table.find(last).refusal, Refusal::lease_ended);
    Outcome outcome;
    EXPECT_LT(visits_of(table, [&] { outcome = table.acquire(at(12s), permit); }), visits_max);
    EXPECT_EQ(outcome.kind, Kind::granted) << "it is the one in grace";
    EXPECT_EQ(table.acquire(at(12s), permit).refusal, Refusal::held);
    EXPECT_LT(
        visits_of(table, [&] { outcome = table.release_own(at(12s), permit.scope, permit.owner); }),
        visits_max);
    EXPECT_EQ(outcome.kind, Kind::released);
    table.check_invariants();
}

TEST(LockTableCost, OfARefusalBehindVeryManyWaitersForARange) {
    LockTable table({.limits = {.waiters_per_lock_max = very_many}});
    const Scope range = Scope::of_range(7, {0, 4096});
    const Token held = table.acquire(at(0s), ask(range, "holder")).lease.token;
    for (int i = 0; i < very_many; ++i) {
        table.acquire(at(0s), queue(ask(range, name(i)), i % 2 == 0 ? 60s : Duration{3600s}));
    }
    Outcome outcome;
    const auto refuse = [&](const Scope& scope) {
        return visits_of(table, [&] { outcome = table.acquire(at(1s), ask(scope, "late")); });
    };
    EXPECT_LT(refuse(range), visits_max);
    EXPECT_EQ(outcome.refusal, Refusal::held);
    EXPECT_FALSE(outcome.is_behind_waiter);
    EXPECT_EQ(outcome.lease.owner.name, "holder");
    EXPECT_EQ(outcome.lease.token, held);
    EXPECT_LT(visits_of(table, [&] { static_cast<void>(table.find_in_the_way(range, {})); }),
              visits_max);
}

// Each waits for a range that reaches into that of the one before: who holds the first is nobody's
// business who asks for the last.
TEST(LockTableCost, OfARefusalBehindAChainOfRanges) {
    LockTable table({.limits = {.waiters_per_lock_max = very_many}});
    table.acquire(at(0s), ask(Scope::of_range(7, {0, 10}), "holder"));
    for (std::uint64_t i = 1; i <= 50'000; ++i) {
        table.acquire(at(0s), queue(ask(Scope::of_range(7, {10 * i - 5, 10 * i + 10}), "waiter")));
    }
    Outcome outcome;
    const Scope last = Scope::of_range(7, {500'005, 500'007});
    EXPECT_LT(visits_of(table, [&] { outcome = table.acquire(at(1s), ask(last, "late")); }),
              visits_max);
    EXPECT_EQ(outcome.refusal, Refusal::held);
    EXPECT_TRUE(outcome.is_behind_waiter);
    EXPECT_EQ(outcome.lease.owner.name, "waiter");
    EXPECT_EQ(outcome.lease.scope, Scope::of_range(7, {499'995, 500'010}));
    EXPECT_LT(visits_of(table, [&] { static_cast<void>(table.find_in_the_way(last, {})); }),
              visits_max);
}

TEST(LockTableCost, OfAReleaseOfRangesThatWereTakenInDescendingOrder) {
    LockTable table;
    std::vector<Token> tokens;
    for (std::uint64_t i = very_many; i > 0; --i) {
        const Scope range = Scope::of_range(7, {10 * i, 10 * i + 10});
        tokens.push_back(table.acquire(at(0s), ask(range, "holder")).lease.token);
    }
    Outcome outcome;
    EXPECT_LT(
        visits_of(table,
                  [&] { outcome = table.acquire(at(1s), queue(ask(Scope::of_inode(7), "late"))); }),
        visits_max);
    EXPECT_EQ(outcome.kind, Kind::queued);
    std::uint64_t most = 0;
    for (; tokens.size() > very_many - 1000; tokens.pop_back()) {
        most = std::max(most,
                        visits_of(table, [&] { table.release(at(1s), {.token = tokens.back()}); }));
    }
    EXPECT_LT(most, visits_max);
}

TEST(LockTableCost, OfSetsInDeepQueues) {
    constexpr int locks = 64, deep = 1000;
    LockTable table;
    std::vector<std::string> names;
    std::vector<SetMember> members;
    names.reserve(locks);
    for (int i = 0; i < locks; ++i) {
        names.push_back(name(i));
        members.push_back({.scope = Scope::named(names.back())});
        table.acquire(at(0s), ask(names.back(), "holder"));
        for (int waiter = 0; waiter < deep; ++waiter) {
            table.acquire(at(0s), queue(ask(names.back(), "waiter")));
        }
    }
    AcquireRequest set = ask(names.front(), "ann");
    set.members = members;
    Outcome outcome;
    EXPECT_LT(visits_of(table, [&] { outcome = table.acquire(at(1s), set); }), visits_max);
    EXPECT_EQ(outcome.refusal, Refusal::held);
    EXPECT_LT(visits_of(table, [&] { outcome = table.acquire(at(1s), queue(set)); }), visits_max);
    ASSERT_EQ(outcome.kind, Kind::queued);
    EXPECT_EQ(outcome.position, deep + 1U);
    const WaiterId waiter = outcome.waiter;
    EXPECT_LT(visits_of(table, [&] { table.wait_on(at(1s), waiter, 1s); }), visits_max);
    EXPECT_LT(visits_of(table, [&] { table.advance(at(2s)); }), visits_max);
    EXPECT_EQ(table.counts().waiters, std::size_t{locks * deep}) << "the set has timed out";
}

// Everybody waits for the hub, and the owner of the hub for one of them.
TEST(LockTableCost, OfAJoinAndAListOfDeadlocksInAStar) {
    constexpr int many = 20'000;
    constexpr std::uint64_t search_max = 2 * Limits{}.deadlock_steps_max;
    LockTable table;
    table.acquire(at(0s), ask("hub", "hub"));
    std::uint64_t most = 0;
    for (int i = 0; i < many; ++i) {
        const std::string client = name(i);
        table.acquire(at(0s), ask(client, client));
        most = std::max(
            most, visits_of(table, [&] { table.acquire(at(0s), queue(ask("hub", client))); }));
    }
    EXPECT_LT(most, search_max);
    const std::string last = name(many - 1);
    table.clear_changes();
    EXPECT_LT(visits_of(table, [&] { table.acquire(at(1s), queue(ask(last, "hub"))); }),
              search_max);
    EXPECT_EQ(take_events(table), (Texts{"queued " + last + " hub", "deadlock " + last + " hub"}));
    Deadlocks deadlocks;
    EXPECT_LT(visits_of(table, [&] { deadlocks = table.list_deadlocks(); }), search_max);
    EXPECT_EQ(deadlocks.cycles.size(), 1U);
    EXPECT_FALSE(deadlocks.is_cut);
}

// Small ranges that are held and waited for, and a victim that only one holder keeps waiting. Behind
// the victim very many wait for what it wants: only their age tells that they are not in its way.
TEST(LockTableCost, OfAReleaseBeforeVeryManyYoungerWaitersForARange) {
    constexpr std::uint64_t old = 30'000, young = 40'000, middle = 10 * old / 2;
    LockTable table({.limits = {.waiters_per_lock_max = very_many}});
    const auto range = [](std::uint64_t from, std::uint64_t to) {
        return Scope::of_range(7, {from, to});
    };
    for (std::uint64_t i = 0; i < old; ++i) {
        const std::uint64_t start = i * 7919 % old * 10;
        table.acquire(at(0s), ask(range(start, start + 5), "holder"));
        table.acquire(at(0s), queue(shared(ask(range(start, start + 5), "waiter"))));
    }
    const Scope wanted = range(middle + 5, middle + 10);
    const Token held = table.acquire(at(0s), ask(wanted, "holder")).lease.token;
    table.acquire(at(0s), queue(ask(wanted, "victim")));
    for (std::uint64_t i = 0; i < young; ++i) {
        const Scope young_range = range(i * 7919 % young * 3, 2 * middle);
        table.acquire(at(0s), queue(shared(ask(young_range, "young"))));
    }
    Outcome outcome;
    table.clear_changes();
    EXPECT_LT(visits_of(table, [&] { outcome = table.release(at(1s), {.token = held}); }),
              visits_max);
    EXPECT_EQ(outcome.kind, Kind::released);
    EXPECT_EQ(take_events(table).size(), 2U) << "the victim has it";
}

// The most that a single call looks at, of all that it takes until the table is not behind.
std::uint64_t most_visits_until_done(LockTable& table, Time now) {
    std::uint64_t most = 0;
    do {
        most = std::max(most, visits_of(table, [&] { table.advance(now); }));
        table.clear_changes();
    } while (table.is_behind());
    return most;
}

TEST(LockTableCost, OfVeryManyLeasesThatExpireTogether) {
    constexpr int leases = 200'000;
    for (const Duration grace : {Duration{0}, Duration{5s}}) {
        LockTable table;
        for (int i = 0; i < leases; ++i) {
            const std::string job = name(i);
            AcquireRequest request = ask(job, "holder");
            request.grace = grace;
            table.acquire(at(0s), request);
            table.clear_changes();
        }
        EXPECT_LT(most_visits_until_done(table, at(30s)), visits_max);
        EXPECT_LT(most_visits_until_done(table, at(40s)), visits_max);
        EXPECT_EQ(table.counts().locks, 0U);
    }
}

TEST(LockTableCost, OfTheHoldersOfACrowdedLockThatExpireTogether) {
    LockTable table({.limits = {.waiters_per_lock_max = very_many}});
    AcquireRequest permit = ask(Scope::semaphore("s"), "ann");
    permit.limit = very_many;
    for (int i = 0; i < very_many; ++i) {
        const std::string owner = name(i);
        table.acquire(at(0s), shared(ask("n", owner)));
        permit.owner.name = owner;
        table.acquire(at(0s), permit);
        table.clear_changes();
    }
    table.acquire(at(0s), queue(ask("n", "late")));
    EXPECT_TRUE(table.is_too_much_to_settle(Scope::named("n")));
    EXPECT_LT(most_visits_until_done(table, at(30s)), visits_max);
    EXPECT_EQ(holder(table, "n"), "late");
    EXPECT_EQ(table.counts().leases, 1U);
}

TEST(LockTableCost, OfVeryManyWaitersBehindOneHolder) {
    for (const Scope& scope : {Scope::named("n"), Scope::path("/n")}) {
        LockTable table({.limits = {.waiters_per_lock_max = very_many}});
        const Token token = table.acquire(at(0s), ask(scope, "holder")).lease.token;
        for (int i = 0; i < very_many; ++i) {
            table.acquire(at(0s), queue(shared(ask(scope, name(i)))));
            table.clear_changes();
        }
        EXPECT_LT(visits_of(table, [&] { table.release(at(1s), {.token = token}); }), visits_max);
        table.clear_changes();
        EXPECT_LT(most_visits_until_done(table, at(1s)), visits_max);
        EXPECT_EQ(table.counts().leases, std::size_t{very_many});
    }
}

TEST(LockTableCost, OfVeryManyWaitsThatTimeOutTogether) {
    LockTable table({.limits = {.waiters_per_lock_max = very_many}});
    AcquireRequest endless_request = ask("n", "holder");
    endless_request.ttl = endless;
    table.acquire(at(0s), endless_request);
    for (int i = 0; i < very_many; ++i) {
        table.acquire(at(0s), queue(ask("n", name(i)), 60s));
        table.clear_changes();
    }
    EXPECT_LT(most_visits_until_done(table, at(60s)), visits_max);
    EXPECT_EQ(table.counts().waiters, 0U);
}

TEST(LockTableCost, OfAForcedReleaseAndOfTheEndOfASession) {
    LockTable table;
    const SessionId session = table.open_session(at(0s), {.name = "tcp"});
    for (int i = 0; i < very_many; ++i) {
        table.acquire(at(0s), shared(ask("n", name(i))));
        table.acquire(at(0s), in(session, ask(name(i), "s")));
        table.clear_changes();
    }
    LockTable::ForcedEnd progress;
    bool is_done = false;
    std::uint64_t most = 0;
    while (!is_done) {
        most = std::max(most, visits_of(table, [&] {
                            is_done = table.force_release_part(at(1s), Scope::named("n"), progress);
                        }));
        table.clear_changes();
    }
    EXPECT_EQ(progress.count, std::size_t{very_many});
    for (is_done = false; !is_done;) {
        most = std::max(most, visits_of(table, [&] {
                            is_done = table.end_session_part(at(1s), session,
                                                             LockTable::SessionLeases::release);
                        }));
        table.clear_changes();
    }
    EXPECT_LT(most, visits_max);
    EXPECT_EQ(table.counts().leases, 0U);
}

// The last lease of a page has ended meanwhile: the next page begins behind its place.
TEST(LockTableCost, OfAPageOfTheHoldersOfACrowdedLock) {
    LockTable table;
    std::vector<Token> tokens;
    for (int i = 0; i < very_many; ++i) {
        tokens.push_back(table.acquire(at(0s), shared(ask("n", name(i)))).lease.token);
        table.clear_changes();
    }
    const Token gone = tokens[very_many / 2];
    table.release(at(1s), {.token = gone});
    std::optional<LockView> page;
    EXPECT_LT(visits_of(table,
                        [&] {
                            page = table.inspect(Scope::named("n"), 0,
                                                 {.after = gone.fence, .limit = 10});
                        }),
              visits_max);
    ASSERT_EQ(page->holders.size(), 10U);
    EXPECT_EQ(page->holders[0].token, tokens[very_many / 2 + 1]);
}

}  // namespace
}  // namespace holdfast::core
