// The value of a lease: what a candidate of an election tells everybody when it leads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;
using ::testing::ElementsAre;

AcquireRequest with_value(AcquireRequest request, std::string_view value) {
    request.value = value;
    return request;
}

TEST(LeaseValue, IsThatOfTheRequestAndHasRevisionOne) {
    LockTable table;
    const Outcome granted = table.acquire(at(0s), with_value(ask("job", "ann"), "10.0.0.1"));
    EXPECT_EQ(granted.lease.value, "10.0.0.1");
    EXPECT_EQ(granted.lease.revision, 1U);
    const Outcome plain = table.acquire(at(0s), ask("other", "ann"));
    EXPECT_EQ(plain.lease.value, "");
    EXPECT_EQ(plain.lease.revision, 0U);
}

TEST(LeaseValue, OfAWaiterBecomesThatOfItsLease) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "ann")).lease.token;
    (void)table.acquire(at(0s), queue(with_value(ask("job", "bob"), "10.0.0.2")));
    (void)table.release(at(1s), {.token = token});
    const Outcome found = table.find_holder(Scope::named("job"));
    EXPECT_EQ(found.lease.owner.name, "bob");
    EXPECT_EQ(found.lease.value, "10.0.0.2");
    EXPECT_EQ(found.lease.revision, 1U);
}

TEST(LeaseValue, CanBeChangedByTheHolder) {
    LockTable table;
    const Outcome granted = table.acquire(at(0s), with_value(ask("job", "ann"), "a"));
    const Token token = granted.lease.token;
    const Time end = granted.lease.expires_at;
    const std::uint64_t version = granted.lease.version;
    table.clear_changes();
    const Outcome changed = table.set_value(at(1s), {.token = token, .value = "b"});
    ASSERT_EQ(changed.kind, Kind::renewed);
    EXPECT_EQ(changed.lease.value, "b");
    EXPECT_EQ(changed.lease.revision, 2U);
    EXPECT_EQ(changed.lease.expires_at, end);
    EXPECT_EQ(changed.lease.version, version + 1);
    ASSERT_EQ(table.changes().size(), 1U);
    const Event& event = table.changes()[0];
    EXPECT_EQ(event.kind, EventKind::value_set);
    EXPECT_TRUE(is_kept(event));
    EXPECT_EQ(event.lease.value, "b");
    EXPECT_EQ(event.lease.revision, 2U);
    const Outcome renewed = table.renew(at(2s), {.token = token});
    EXPECT_EQ(renewed.lease.value, "b");
    EXPECT_EQ(renewed.lease.revision, 2U);
    table.check_invariants();
}

TEST(LeaseValue, CanBeGivenToALeaseThatHasNoneAndTakenAway) {
    LockTable table;
    const Token token = table.acquire(at(0s), ask("job", "ann")).lease.token;
    EXPECT_EQ(table.set_value(at(1s), {.token = token, .value = "x"}).lease.revision, 1U);
    const Outcome none = table.set_value(at(1s), {.token = token, .value = ""});
    EXPECT_EQ(none.lease.value, "");
    EXPECT_EQ(none.lease.revision, 2U);
}

TEST(LeaseValue, ThatIsTheSameChangesNothing) {
    LockTable table;
    const Token token = table.acquire(at(0s), with_value(ask("job", "ann"), "a")).lease.token;
    table.clear_changes();
    const std::uint64_t before = table.digest();
    const Outcome same = table.set_value(at(0s), {.token = token, .value = "a"});
    EXPECT_EQ(same.kind, Kind::renewed);
    EXPECT_EQ(same.lease.value, "a");
    EXPECT_EQ(same.lease.revision, 1U);
    EXPECT_TRUE(table.changes().empty());
    EXPECT_EQ(table.digest(), before);
}

TEST(LeaseValue, IsPartOfTheDigest) {
    const auto digest_with = [](std::string_view value) {
        LockTable table;
        (void)table.acquire(at(0s), with_value(ask("job", "ann"), value));
        return table.digest();
    };
    EXPECT_NE(digest_with("a"), digest_with("b"));
    EXPECT_EQ(digest_with("a"), digest_with("a"));
}

TEST(LeaseValue, IsRefusedWithoutALiveLease) {
    LockTable table;
    AcquireRequest request = with_value(ask("job", "ann"), "a");
    request.grace = 10s;
    const Token token = table.acquire(at(0s), request).lease.token;
    const Token wrong{.fence = token.fence, .secret = Secret{1}};
    EXPECT_EQ(table.set_value(at(1s), {.token = wrong, .value = "b"}).refusal,
              Refusal::unknown_lease);
    EXPECT_EQ(table.set_value(at(31s), {.token = token, .value = "b"}).refusal,
              Refusal::lease_ended);
    EXPECT_EQ(table.find_holder(Scope::named("job")).lease.value, "a");
}

TEST(LeaseValue, HasAGreatestLength) {
    LockTable table({.limits = {.value_length_max = 3, .waiter_length_max = 2}});
    EXPECT_EQ(table.acquire(at(0s), with_value(ask("job", "ann"), "abcd")).refusal,
              Refusal::value_length_max);
    AcquireRequest request = with_value(ask("job", "ann"), "abc");
    request.notes.waiter = "xyz";
    EXPECT_EQ(table.acquire(at(0s), request).refusal, Refusal::waiter_length_max);
    request.notes.waiter = "xy";
    const Outcome granted = table.acquire(at(0s), request);
    ASSERT_EQ(granted.kind, Kind::granted);
    EXPECT_EQ(granted.lease.notes.waiter, "xy");
    const Token token = granted.lease.token;
    EXPECT_EQ(table.set_value(at(0s), {.token = token, .value = "abcd"}).refusal,
              Refusal::value_length_max);
    EXPECT_EQ(table.find(token).lease.value, "abc");
}

TEST(LeaseValue, OfALeaseThatIsGrantedAgainIsTheNewOne) {
    LockTable table;
    AcquireRequest request = with_value(ask("job", "ann"), "old");
    request.grace = 10s;
    const Token token = table.acquire(at(0s), request).lease.token;
    (void)table.set_value(at(0s), {.token = token, .value = "older"});
    request.value = "new";
    const Outcome again = table.acquire(at(31s), request);
    ASSERT_EQ(again.kind, Kind::granted);
    EXPECT_EQ(again.lease.value, "new");
    EXPECT_EQ(again.lease.revision, 1U);
}

TEST(LeaseValue, IsRestored) {
    LockTable table;
    RestoreRequest lease = testing::remembered(with_value(ask("job", "ann"), "v"), 7);
    lease.revision = 4;
    lease.notes.waiter = "thread 1";
    ASSERT_TRUE(table.restore(at(0s), lease));
    const Outcome found = table.find(lease.token);
    EXPECT_EQ(found.lease.value, "v");
    EXPECT_EQ(found.lease.revision, 4U);
    EXPECT_EQ(found.lease.notes.waiter, "thread 1");
    EXPECT_EQ(table.set_value(at(0s), {.token = lease.token, .value = "w"}).lease.revision, 5U);
    // The store has the whole lease from this run now: a renewal need not be written again.
    table.clear_changes();
    (void)table.renew(at(1s), {.token = lease.token});
    EXPECT_FALSE(is_kept(table.changes().last()));
}

TEST(LeaseValue, WithoutARevisionIsNotRestored) {
    LockTable table;
    EXPECT_FALSE(table.restore(at(0s), testing::remembered(with_value(ask("job", "ann"), "v"), 7)));
    RestoreRequest emptied = testing::remembered(ask("job", "ann"), 7);
    emptied.revision = 2;
    EXPECT_TRUE(table.restore(at(0s), emptied));
}

TEST(LeaseValue, OfATransientLeaseIsNotKept) {
    LockTable table;
    AcquireRequest request = with_value(ask("job", "ann"), "a");
    request.is_transient = true;
    const Token token = table.acquire(at(0s), request).lease.token;
    (void)table.set_value(at(0s), {.token = token, .value = "b"});
    EXPECT_FALSE(is_kept(table.changes().last()));
    EXPECT_THAT(take_events(table), ElementsAre("granted job ann", "value_set job ann"));
}

}  // namespace
}  // namespace holdfast::core
