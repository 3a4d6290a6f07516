// What the table shows: listings, one lock with its queue, counts, and the events of every
// transition.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

// A table with some of every kind.
void fill(LockTable& table) {
    for (const auto* name : {"web/b", "job", "web/a", "web/c"}) {
        table.acquire(at(0s), ask(name, "x"));
    }
    table.acquire(at(0s), ask(Scope::path("/web"), "x"));
    table.acquire(at(0s), ask(Scope::of_inode(10), "x"));
    table.acquire(at(0s), ask(Scope::of_range(9, {0, 5}), "x"));
    table.acquire(at(0s), ask(Scope::of_range(9, {5, 9}), "x"));
    table.acquire(at(0s), ask(Scope::semaphore("printers"), "x"));
}

TEST(LockTable, ListsByKindAndKey) {
    LockTable table({.hash_seed = 99});
    fill(table);
    EXPECT_EQ(names(table.list({})), (Texts{"job", "web/a", "web/b", "web/c", "semaphore:printers",
                                            "path:/web", "inode:9", "inode:10"}));
}

TEST(LockTable, ListsOneKindOrPrefix) {
    LockTable table;
    fill(table);
    EXPECT_EQ(names(table.list({.kind = ScopeKind::inode})), (Texts{"inode:9", "inode:10"}));
    EXPECT_EQ(names(table.list({.prefix = "web/"})), (Texts{"web/a", "web/b", "web/c"}));
    EXPECT_EQ(names(table.list({.kind = ScopeKind::path, .prefix = "/w"})), (Texts{"path:/web"}));
    EXPECT_TRUE(table.list({.prefix = "nothing"}).empty());
}

TEST(LockTable, ListsPageByPage) {
    LockTable table;
    fill(table);
    const Texts all = names(table.list({}));
    for (const std::size_t limit : {1U, 2U, 3U, 7U, 8U, 9U}) {
        Texts pages;
        ListQuery query{.limit = limit};
        for (auto page = table.list(query); !page.empty(); page = table.list(query)) {
            EXPECT_LE(page.size(), limit);
            for (const auto& name : names(page)) pages.push_back(name);
            query.after = page.back().scope;
        }
        EXPECT_EQ(pages, all) << limit;
    }
    EXPECT_TRUE(table.list({.limit = 0}).empty());
}

TEST(LockTable, ListsIdleLocksOnlyWhenAsked) {
    LockTable table({.idle_retention = 60s});
    const Token token = table.acquire(at(0s), ask("job", "x")).lease.token;
    table.release(at(0s), {.token = token});
    EXPECT_TRUE(table.list({}).empty());
    EXPECT_EQ(names(table.list({.with_idle = true})), (Texts{"job"}));
}

TEST(LockTable, ShowsAQueueAndWhatEachWaitsFor) {
    LockTable table;
    table.acquire(at(0s), ask("job", "a"));
    table.acquire(at(1s), queue(ask("job", "b"), 10s));
    table.acquire(at(2s), queue(shared(ask("job", "c"))));
    const auto lock = table.inspect(Scope::named("job"));
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock->holders.size(), 1U);
    EXPECT_EQ(lock->waiter_count, 2U);
    ASSERT_EQ(lock->waiters.size(), 2U);
    const WaiterView &b = lock->waiters[0], &c = lock->waiters[1];
    EXPECT_EQ(b.position, 1U);
    EXPECT_EQ(b.since, at(1s));
    EXPECT_EQ(b.deadline, at(11s));
    EXPECT_EQ(b.blocker.name, "a");
    EXPECT_FALSE(b.is_blocked_by_waiter);
    EXPECT_EQ(b.blocker_fence, fence(1));
    EXPECT_EQ(c.position, 2U);
    EXPECT_EQ(c.mode, Mode::shared);
    EXPECT_EQ(c.deadline, Time::max());
    EXPECT_EQ(c.blocker.name, "b");
    EXPECT_TRUE(c.is_blocked_by_waiter);
    EXPECT_EQ(table.inspect(Scope::named("job"), 1)->waiters.size(), 1U);
    EXPECT_EQ(table.inspect(Scope::named("job"), 0)->waiter_count, 2U);
}

TEST(LockTable, ShowsWhatARangeWaitsFor) {
    LockTable table;
    table.acquire(at(0s), ask(Scope::of_range(7, {0, 10}), "a"));
    table.acquire(at(0s), ask(Scope::of_range(7, {10, 20}), "b"));
    table.acquire(at(1s), queue(ask(Scope::of_range(7, {15, 30}), "c")));
    table.acquire(at(2s), queue(ask(Scope::of_range(7, {25, 26}), "d")));
    const auto lock = table.inspect(Scope::of_range(7, {0, 1}));
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock->scope, Scope::of_inode(7));
    ASSERT_EQ(lock->holders.size(), 2U);
    EXPECT_EQ(lock->holders[1].scope, Scope::of_range(7, {10, 20}));
    ASSERT_EQ(lock->waiters.size(), 2U);
    EXPECT_EQ(lock->waiters[0].scope, Scope::of_range(7, {15, 30}));
    EXPECT_EQ(lock->waiters[0].blocker.name, "b");
    EXPECT_EQ(lock->waiters[0].blocker_fence, fence(2));
    EXPECT_EQ(lock->waiters[1].blocker.name, "c");
    EXPECT_TRUE(lock->waiters[1].is_blocked_by_waiter);
}

// The name of whoever is in the way of such a request.
std::string in_the_way(const LockTable& table, const Scope& scope, Mode mode = Mode::exclusive) {
    const auto refusal = table.find_in_the_way(scope, mode);
    if (!refusal) return "nobody";
    const std::string name(refusal->lease.owner.name);
    return refusal->is_behind_waiter ? name + ", who waits" : name;
}

TEST(LockTable, FindsWhoIsInTheWay) {
    LockTable table;
    EXPECT_EQ(in_the_way(table, Scope::named("job")), "nobody");
    table.acquire(at(0s), shared(ask("job", "a")));
    EXPECT_EQ(in_the_way(table, Scope::named("job")), "a");
    EXPECT_EQ(in_the_way(table, Scope::named("job"), Mode::shared), "nobody");
    table.acquire(at(0s), queue(ask("job", "b")));
    EXPECT_EQ(in_the_way(table, Scope::named("job"), Mode::shared), "a") << "b waits for a";
}

TEST(LockTable, FindsWhoIsInTheWayOfARange) {
    LockTable table;
    table.acquire(at(0s), ask(Scope::of_range(7, {0, 10}), "a"));
    table.acquire(at(1s), queue(ask(Scope::of_range(7, {5, 30}), "b")));
    EXPECT_EQ(in_the_way(table, Scope::of_range(7, {20, 25})), "b, who waits");
    EXPECT_EQ(in_the_way(table, Scope::of_range(7, {30, 40})), "nobody");
    EXPECT_EQ(in_the_way(table, Scope::of_inode(8)), "nobody");
}

TEST(LockTable, FindsASetThatWaitsAtTheHeadOfAFreeLock) {
    LockTable table;
    table.acquire(at(0s), ask("taken", "a"));
    const SetMember members[] = {{.scope = Scope::named("free")}, {.scope = Scope::named("taken")}};
    AcquireRequest request = queue(ask("free", "b"));
    request.members = members;
    table.acquire(at(1s), request);
    EXPECT_EQ(in_the_way(table, Scope::named("free")), "b, who waits");
    EXPECT_EQ(in_the_way(table, Scope::named("taken")), "a");
    const Outcome behind = table.find_holder(Scope::named("free"));
    EXPECT_EQ(behind.kind, Kind::refused);
    EXPECT_EQ(behind.refusal, Refusal::held);
    EXPECT_TRUE(behind.is_behind_waiter);
    EXPECT_EQ(behind.lease.owner.name, "b");
    EXPECT_EQ(table.find_holder(Scope::named("none")).refusal, Refusal::unknown_lease);
}

TEST(LockTable, CountsWhatThereIs) {
    LockTable table({.idle_retention = 60s});
    AcquireRequest request = ask("job", "a");
    request.grace = 5s;
    table.acquire(at(0s), request);
    table.acquire(at(0s), queue(ask("job", "b")));
    table.open_session(at(0s), {.name = "conn"});
    TableCounts counts = table.counts();
    EXPECT_EQ(counts.locks, 1U);
    EXPECT_EQ(counts.leases, 1U);
    EXPECT_EQ(counts.waiters, 1U);
    EXPECT_EQ(counts.sessions, 1U);
    EXPECT_EQ(counts.idle, 0U);
    table.advance(at(30s));
    EXPECT_EQ(table.counts().leases, 0U);
    table.advance(at(35s));
    EXPECT_EQ(table.counts().leases, 1U);
    EXPECT_EQ(table.counts().waiters, 0U);
    table.advance(at(65s));
    EXPECT_EQ(table.counts().idle, 1U);
}

TEST(LockTable, ChangesTheVersionWithEveryChangeOfALock) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    const std::uint64_t granted = table.inspect(Scope::named("job"))->version;
    const std::uint64_t renewed = table.renew(at(1s), {.token = token}).lease.version;
    EXPECT_GT(renewed, granted);
    table.acquire(at(1s), queue(ask("job", "b")));
    table.release(at(2s), {.token = token});
    EXPECT_GT(table.inspect(Scope::named("job"))->version, renewed);
}

TEST(LockTable, TellsEveryTransitionOfALease) {
    LockTable table;
    AcquireRequest request = ask("job", "a");
    request.grace = 5s;
    request.memory = 60s;
    const Token token = table.acquire(at(1s), request).lease.token;
    table.renew(at(2s), {.token = token});
    table.advance(at(32s));
    table.advance(at(37s));
    table.acquire(at(40s), ask("job", "b"));
    ASSERT_EQ(table.changes().size(), 5U);

    const Event granted = table.changes()[0];
    EXPECT_EQ(granted.kind, EventKind::granted);
    EXPECT_EQ(granted.cause, Cause::request);
    EXPECT_EQ(granted.at, at(1s));
    EXPECT_EQ(granted.lease.token, token);
    EXPECT_EQ(granted.lease.ttl, 30s);
    EXPECT_EQ(granted.grace, 5s);
    EXPECT_EQ(granted.memory, 60s);
    EXPECT_FALSE(granted.waiter);

    const Event renewed = table.changes()[1];
    EXPECT_EQ(renewed.kind, EventKind::renewed);
    EXPECT_EQ(renewed.at, at(2s));
    EXPECT_EQ(renewed.lease.expires_at, at(32s));

    const Event expired = table.changes()[2];
    EXPECT_EQ(expired.kind, EventKind::expired);
    EXPECT_EQ(expired.at, at(32s));
    EXPECT_EQ(expired.lease.token, token);
    EXPECT_EQ(expired.lease.state, LeaseState::grace);
    EXPECT_EQ(expired.lease.grace_until, at(37s));

    const Event freed = table.changes()[3];
    EXPECT_EQ(freed.kind, EventKind::grace_ended);
    EXPECT_EQ(freed.at, at(37s));
    EXPECT_EQ(freed.lease.owner.name, "a");

    const Event taken = table.changes()[4];
    EXPECT_EQ(taken.lease.owner.name, "b");
    EXPECT_EQ(taken.previous_owner, "a");
}

TEST(LockTable, TellsEveryTransitionOfAWait) {
    LockTable table;
    const SessionId session = table.open_session(at(0s), {Door{3}, "conn"});
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    const WaiterId b = table.acquire(at(1s), queue(ask("job", "b"), 2s)).waiter;
    const WaiterId c = table.acquire(at(1s), in(session, queue(ask("job", "c")))).waiter;
    const WaiterId d = table.acquire(at(1s), queue(ask("job", "d"))).waiter;
    table.clear_changes();
    table.advance(at(3s));
    table.release(at(4s), {.token = token});
    table.cancel(at(5s), d);
    table.end_session(at(6s), session);
    ASSERT_EQ(table.changes().size(), 6U);

    const Event timed_out = table.changes()[0];
    EXPECT_EQ(timed_out.kind, EventKind::wait_timed_out);
    EXPECT_EQ(timed_out.waiter, b);
    EXPECT_EQ(timed_out.waiting_since, at(1s));
    EXPECT_EQ(timed_out.lease.owner.name, "b");
    EXPECT_EQ(timed_out.lease.scope, Scope::named("job"));
    EXPECT_EQ(timed_out.queue_length, 2U);

    EXPECT_EQ(table.changes()[1].kind, EventKind::released);
    const Event granted = table.changes()[2];
    EXPECT_EQ(granted.kind, EventKind::granted);
    EXPECT_EQ(granted.waiter, c);
    EXPECT_EQ(granted.waiting_since, at(1s));
    EXPECT_EQ(granted.lease.session, session);
    EXPECT_EQ(granted.queue_length, 1U);

    EXPECT_EQ(table.changes()[3].kind, EventKind::wait_cancelled);
    EXPECT_EQ(table.changes()[3].waiter, d);
    EXPECT_EQ(table.changes()[4].kind, EventKind::released);
    EXPECT_EQ(table.changes()[4].cause, Cause::session_end);
    const Event ended = table.changes()[5];
    EXPECT_EQ(ended.kind, EventKind::session_ended);
    EXPECT_EQ(ended.lease.session, session);
    EXPECT_EQ(ended.lease.owner, (Owner{Door{3}, "conn"}));
}

TEST(LockTable, TellsWhatWasQueuedAndForced) {
    LockTable table;
    AcquireRequest request = ask(Scope::semaphore("printers"), "a");
    request.limit = 1;
    table.acquire(at(0s), request);
    request.owner.name = "b";
    request.wait = 9s;
    table.acquire(at(1s), request);
    const Event queued = table.changes()[1];
    EXPECT_EQ(queued.kind, EventKind::queued);
    EXPECT_EQ(queued.lease.owner.name, "b");
    EXPECT_EQ(queued.lease.ttl, 30s);
    EXPECT_EQ(queued.limit, 1U);
    EXPECT_EQ(queued.queue_length, 1U);
    table.clear_changes();
    table.force_release(at(2s), request.scope);
    EXPECT_EQ(table.changes()[0].kind, EventKind::released);
    EXPECT_EQ(table.changes()[0].cause, Cause::force);
    EXPECT_EQ(table.changes()[1].kind, EventKind::granted);
}

TEST(LockTable, ListsSessionsAsTheyWereOpened) {
    LockTable table;
    const SessionId first = table.open_session(at(1s), {.door = Door{3}, .name = "one"});
    const SessionId second = table.open_session(at(2s), {.door = Door{3}, .name = "two"});
    table.acquire(at(3s), in(first, ask("a", "one")));
    table.acquire(at(3s), in(first, ask("b", "one")));
    table.acquire(at(3s), in(second, queue(ask("a", "two"))));
    const auto sessions = table.list_sessions({});
    ASSERT_EQ(sessions.size(), 2U);
    EXPECT_EQ(sessions[0].id, first);
    EXPECT_EQ(sessions[0].owner.name, "one");
    EXPECT_EQ(sessions[0].owner.door, Door{3});
    EXPECT_EQ(sessions[0].opened_at, at(1s));
    EXPECT_EQ(sessions[0].leases, 2U);
    EXPECT_EQ(sessions[0].waiters, 0U);
    EXPECT_EQ(sessions[1].leases, 0U);
    EXPECT_EQ(sessions[1].waiters, 1U);

    ASSERT_EQ(table.list_sessions({.limit = 1}).size(), 1U);
    EXPECT_EQ(table.list_sessions({.limit = 1})[0].id, first);
    ASSERT_EQ(table.list_sessions({.after = first.serial}).size(), 1U);
    EXPECT_EQ(table.list_sessions({.after = first.serial})[0].id, second);
    table.end_session(at(4s), first);
    EXPECT_EQ(table.list_sessions({}).size(), 1U);
}

TEST(LockTable, KeepsATransientLeaseOnlyOnOtherTerms) {
    LockTable table;
    const auto kept = [&table] {
        const auto& changes = table.changes();
        const bool is_any = std::any_of(changes.begin(), changes.end(), is_kept);
        table.clear_changes();
        return is_any;
    };
    AcquireRequest transient = ask("job", "a"), lasting = transient;
    transient.is_transient = transient.renew_own = lasting.renew_own = true;
    const Token token = table.acquire(at(0s), transient).lease.token;
    table.renew(at(1s), {.token = token, .ttl = 60s, .never_shorten = true});
    EXPECT_FALSE(kept());
    table.acquire(at(2s), lasting);
    EXPECT_TRUE(kept()) << "somebody means to keep it";
    table.acquire(at(3s), transient);
    EXPECT_FALSE(table.find(token).lease.is_transient) << "that stays so";
    table.release(at(4s), {.token = token});
    EXPECT_TRUE(kept());
    table.acquire(at(5s), transient);
    table.advance(at(1h));
    EXPECT_FALSE(kept());
}

TEST(LockTable, TellsNothingOfRefusals) {
    LockTable table;
    table.acquire(at(0s), ask("job", "a"));
    table.clear_changes();
    table.acquire(at(1s), ask("job", "b"));
    table.renew(at(1s), {.token = {fence(9), Secret{}}});
    EXPECT_TRUE(table.changes().empty());
}

}  // namespace
}  // namespace holdfast::core
