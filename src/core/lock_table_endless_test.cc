// Leases without an end.

#include <gtest/gtest.h>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

AcquireRequest without_end(AcquireRequest request) {
    request.ttl = endless;
    return request;
}

TEST(EndlessLease, NeverExpires) {
    LockTable table;
    const Outcome granted = table.acquire(at(5s), without_end(ask("job", "a")));
    ASSERT_EQ(granted.kind, Kind::granted);
    EXPECT_TRUE(granted.lease.is_endless());
    EXPECT_EQ(granted.lease.expires_at, Time::max());
    EXPECT_FALSE(table.next_deadline()) << "nothing will ever happen by itself";
    table.advance(at(24h * 366 * 1000));
    EXPECT_EQ(holder(table, "job"), "a");
    table.check_invariants();
}

TEST(EndlessLease, EndsWithARelease) {
    LockTable table;
    const Token token = table.acquire(at(0s), without_end(ask("job", "a"))).lease.token;
    ASSERT_EQ(table.acquire(at(1s), queue(ask("job", "b"))).kind, Kind::queued);
    EXPECT_EQ(table.release(at(2s), {.token = token}).kind, Kind::released);
    EXPECT_EQ(holder(table, "job"), "b");
    table.check_invariants();
}

TEST(EndlessLease, EndsByForceAndWithItsSession) {
    LockTable table;
    table.acquire(at(0s), without_end(ask("job", "a")));
    EXPECT_EQ(table.force_release(at(1s), Scope::named("job")), 1U);
    const SessionId session = table.open_session(at(1s), {.name = "s"});
    table.acquire(at(1s), in(session, without_end(ask("job", "b"))));
    table.end_session(at(2s), session);
    EXPECT_EQ(table.counts().leases, 0U);
    table.check_invariants();
}

TEST(EndlessLease, GetsAnEndByARenewalWithATtl) {
    LockTable table;
    const Token token = table.acquire(at(0s), without_end(ask("job", "a"))).lease.token;
    table.clear_changes();
    EXPECT_EQ(table.renew(at(1s), {.token = token, .ttl = 10s}).lease.expires_at, at(11s));
    EXPECT_TRUE(table.changes()[0].has_new_terms) << "a store must know of it";
    EXPECT_EQ(table.next_deadline(), at(11s));
    table.advance(at(11s));
    EXPECT_EQ(table.counts().leases, 0U);
    table.check_invariants();
}

TEST(EndlessLease, KeepsNoDeadlineOfTheTimeWhenItHadOne) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "a")).lease.token;
    EXPECT_EQ(table.renew(at(1s), {.token = token, .ttl = endless}).kind, Kind::renewed);
    table.check_invariants();
    table.advance(at(30s));
    EXPECT_EQ(holder(table, "job"), "a");
    EXPECT_FALSE(table.next_deadline());
    table.check_invariants();
}

TEST(EndlessLease, IsNotShortenedByARenewalThatMustNotShorten) {
    LockTable table;
    const Token token = table.acquire(at(0s), without_end(ask("job", "a"))).lease.token;
    const Outcome renewed =
        table.renew(at(1s), {.token = token, .ttl = 10s, .never_shorten = true});
    EXPECT_TRUE(renewed.lease.is_endless());
    EXPECT_EQ(renewed.lease.expires_at, Time::max());
}

TEST(EndlessLease, IsRestored) {
    LockTable table;
    EXPECT_TRUE(table.restore(at(5s), remembered(without_end(ask("job", "a")), 7)));
    table.start_restored(at(9s));
    table.advance(at(24h * 366));
    EXPECT_EQ(holder(table, "job"), "a");
    EXPECT_FALSE(table.next_deadline());
    RestoreRequest in_grace = remembered(without_end(ask("other", "a")), 8);
    in_grace.is_in_grace = true;
    EXPECT_FALSE(table.restore(at(9s), in_grace)) << "it cannot have expired";
    table.check_invariants();
}

TEST(EndlessLease, HasALimitOfItsOwn) {
    LockTable table({.limits = {.endless_leases_max = 2}});
    const Token first = table.acquire(at(0s), without_end(ask("a", "x"))).lease.token;
    EXPECT_EQ(table.acquire(at(0s), queue(without_end(ask("a", "y")))).kind, Kind::queued)
        << "a waiter is promised a lease, so it counts";
    EXPECT_EQ(table.acquire(at(0s), without_end(ask("b", "x"))).refusal,
              Refusal::endless_leases_max);
    const Token finite = table.acquire(at(0s), ask("b", "x")).lease.token;
    EXPECT_EQ(table.renew(at(0s), {.token = finite, .ttl = endless}).refusal,
              Refusal::endless_leases_max);
    AcquireRequest again = without_end(ask("b", "x"));
    again.renew_own = true;
    EXPECT_EQ(table.acquire(at(0s), again).refusal, Refusal::endless_leases_max);
    EXPECT_EQ(table.renew(at(0s), {.token = first}).kind, Kind::renewed) << "it is none more";
    table.check_invariants();
    table.renew(at(0s), {.token = first, .ttl = 5s});
    EXPECT_EQ(table.acquire(at(1s), again).kind, Kind::renewed) << "there is room again";
    table.check_invariants();
}

}  // namespace
}  // namespace holdfast::core
