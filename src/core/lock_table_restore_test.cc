#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

// A lease on `scope` as a store might remember it.
RestoreRequest remembered(const Scope& scope, std::uint64_t number) {
    AcquireRequest request = ask(scope, "laptop1");
    request.owner.door = Door{1};
    request.secret = Secret{7};
    RestoreRequest lease = testing::remembered(request, number);
    lease.version = 4;
    return lease;
}

TEST(RestoredLease, IsHeldUnderItsTokenForItsTime) {
    LockTable table;
    ASSERT_TRUE(table.restore(at(100s), remembered(Scope::named("job"), 41)));
    EXPECT_TRUE(table.changes().empty());
    const Outcome found = table.find({.fence = Fence{41}, .secret = Secret{7}});
    ASSERT_EQ(found.kind, Kind::found);
    EXPECT_EQ(found.lease.owner.name, "laptop1");
    EXPECT_EQ(found.lease.expires_at, at(130s));
    EXPECT_EQ(found.lease.version, 4U);
    EXPECT_EQ(table.acquire(at(129s), ask("job", "b")).refusal, Refusal::held);
    EXPECT_EQ(table.acquire(at(130s), ask("job", "b")).kind, Kind::granted);
    table.check_invariants();
}

TEST(RestoredLease, LeavesOnlyLargerNumbersForWhatComesAfter) {
    LockTable table;
    ASSERT_TRUE(table.restore(at(0s), remembered(Scope::named("job"), 41)));
    EXPECT_EQ(table.acquire(at(0s), ask("other", "b")).lease.token.fence, Fence{42});
}

TEST(RestoredLease, IsNewToAStoreWhenItIsFirstRenewed) {
    LockTable table;
    ASSERT_TRUE(table.restore(at(0s), remembered(Scope::named("job"), 1)));
    const Token token{.fence = Fence{1}, .secret = Secret{7}};
    table.renew(at(1s), {.token = token});
    EXPECT_TRUE(table.changes()[0].has_new_terms);
    table.clear_changes();
    table.renew(at(2s), {.token = token});
    EXPECT_FALSE(table.changes()[0].has_new_terms);
    table.clear_changes();
    table.renew(at(3s), {.token = token, .ttl = 10s});
    EXPECT_TRUE(table.changes()[0].has_new_terms);
}

TEST(RestoredLease, ThatIsNeverRenewedExpiresBecauseOfTheRestart) {
    LockTable table;
    ASSERT_TRUE(table.restore(at(0s), remembered(Scope::named("job"), 1)));
    ASSERT_TRUE(table.restore(at(0s), remembered(Scope::named("renewed"), 2)));
    table.renew(at(1s), {.token = {.fence = Fence{2}, .secret = Secret{7}}});
    table.clear_changes();
    table.advance(at(1h));
    ASSERT_EQ(table.changes().size(), 2U);
    EXPECT_EQ(table.changes()[0].kind, EventKind::expired);
    EXPECT_EQ(table.changes()[0].cause, Cause::restart);
    EXPECT_EQ(table.changes()[1].cause, Cause::none);
}

TEST(RestoredLease, InGraceIsKeptForItsOwnerOnly) {
    LockTable table;
    RestoreRequest request = remembered(Scope::named("job"), 9);
    request.grace = request.remaining = 5s;
    request.is_in_grace = true;
    ASSERT_TRUE(table.restore(at(100s), request));
    table.check_invariants();
    EXPECT_EQ(table.acquire(at(104s), ask("job", "b")).refusal, Refusal::in_grace);
    EXPECT_EQ(table.renew(at(104s), {.token = request.token}).refusal, Refusal::lease_ended);
    AcquireRequest again = ask("job", "laptop1");
    again.owner.door = Door{1};
    EXPECT_EQ(table.acquire(at(104s), again).lease.token.fence, Fence{10});
}

TEST(RestoredLease, SharesAndOverlapsAsItDidBefore) {
    LockTable table;
    RestoreRequest shared = remembered(Scope::named("doc"), 1);
    shared.mode = Mode::shared;
    ASSERT_TRUE(table.restore(at(0s), shared));
    shared.token.fence = Fence{2};
    ASSERT_TRUE(table.restore(at(0s), shared));
    ASSERT_TRUE(table.restore(at(0s), remembered(Scope::of_range(7, {0, 10}), 3)));
    ASSERT_TRUE(table.restore(at(0s), remembered(Scope::of_range(7, {10, 20}), 4)));
    RestoreRequest permit = remembered(Scope::semaphore("pool"), 5);
    permit.limit = 2;
    ASSERT_TRUE(table.restore(at(0s), permit));
    permit.token.fence = Fence{6};
    ASSERT_TRUE(table.restore(at(0s), permit));
    EXPECT_EQ(table.counts().leases, 6U);
    table.check_invariants();
}

TEST(RestoredLease, BeginsItsTimeWhenAllAreRestored) {
    LockTable table;
    ASSERT_TRUE(table.restore(at(0s), remembered(Scope::named("job"), 5)));
    const auto early = table.next_deadline();
    ASSERT_TRUE(early);
    const Duration remaining = *early - at(0s);
    table.start_restored(at(100s));
    table.advance(at(100s) + remaining - Duration{1});
    EXPECT_EQ(table.counts().leases, 1U);
    table.check_invariants();
    table.advance(at(100s) + remaining);
    EXPECT_EQ(table.counts().leases, 0U);
    table.check_invariants();
}

TEST(RestoredLease, IsRefusedWhenItCannotBeTrue) {
    LockTable table;
    ASSERT_TRUE(table.restore(at(0s), remembered(Scope::named("job"), 5)));
    EXPECT_FALSE(table.restore(at(0s), remembered(Scope::named("job"), 6))) << "held already";
    EXPECT_FALSE(table.restore(at(0s), remembered(Scope::named("other"), 5))) << "number in use";
    EXPECT_FALSE(table.restore(at(0s), remembered(Scope::named("other"), 0))) << "no number";
    EXPECT_FALSE(table.restore(at(0s), remembered(Scope::named(""), 7))) << "no name";
    EXPECT_EQ(table.counts().locks, 1U);
    table.check_invariants();
}

// Every limit that may be lower than at the start before: what is there already stays, and new requests
// are refused.
struct Lowered {
    std::string_view name;
    Limits limits;
    Refusal refusal;  // of a new request like the restored one
};

class RestoredUnderLowerLimits : public ::testing::TestWithParam<Lowered> {};

TEST_P(RestoredUnderLowerLimits, IsKeptAndMayBeRenewed) {
    LockTable table({.limits = GetParam().limits});
    const std::string text(100, 'x');
    AcquireRequest asked = ask(Scope::semaphore(text), text);
    asked.limit = 50;
    asked.ttl = 60s;
    asked.notes = {.request_id = text, .metadata = text, .waiter = text};
    asked.value = text;
    RestoreRequest lease = testing::remembered(asked, 1);
    lease.revision = 1;
    ASSERT_TRUE(table.restore(at(0s), lease));
    const std::vector<SetMember> members{{.scope = Scope::named(text)},
                                         {.scope = Scope::path("/b")},
                                         {.scope = Scope::of_range(7, {0, 10})}};
    RestoreRequest set = testing::remembered(ask(members[0].scope, text), 2);
    set.ttl = endless;
    set.remaining = endless;
    set.members = members;
    ASSERT_TRUE(table.restore(at(0s), set));
    table.check_invariants();
    EXPECT_EQ(table.counts().leases, 2U);
    const Outcome renewed = table.renew(at(30s), {.token = lease.token});
    EXPECT_EQ(renewed.kind, Kind::renewed);
    EXPECT_EQ(renewed.lease.expires_at, at(90s));
    EXPECT_EQ(table.renew(at(30s), {.token = lease.token, .ttl = 60s}).kind, Kind::renewed);
    EXPECT_EQ(table.renew(at(30s), {.token = set.token}).kind, Kind::renewed);

    const std::string other = text + "2";
    asked.scope = Scope::semaphore(other);
    EXPECT_EQ(table.acquire(at(30s), asked).refusal, GetParam().refusal);
    EXPECT_EQ(table.release(at(31s), {.token = lease.token}).kind, Kind::released);
    EXPECT_EQ(table.release(at(31s), {.token = set.token}).kind, Kind::released);
    EXPECT_EQ(table.counts().locks, GetParam().refusal == Refusal::none ? 1U : 0U);
    table.check_invariants();
}

INSTANTIATE_TEST_SUITE_P(
    EveryLimit, RestoredUnderLowerLimits,
    ::testing::Values(
        Lowered{"locks_max", {.locks_max = 1}, Refusal::locks_max},
        Lowered{"leases_max", {.leases_max = 1}, Refusal::leases_max},
        Lowered{"endless_leases_max", {.endless_leases_max = 0}, Refusal::none},
        Lowered{"key_length_max", {.key_length_max = 9}, Refusal::key_length_max},
        Lowered{"owner_length_max", {.owner_length_max = 9}, Refusal::owner_length_max},
        Lowered{"request_id", {.request_id_length_max = 9}, Refusal::request_id_length_max},
        Lowered{"metadata", {.metadata_length_max = 9}, Refusal::metadata_length_max},
        Lowered{"value", {.value_length_max = 9}, Refusal::value_length_max},
        Lowered{"waiter", {.waiter_length_max = 9}, Refusal::waiter_length_max},
        Lowered{"set_members_max", {.set_members_max = 2}, Refusal::none},
        Lowered{"permits_max", {.permits_max = 2}, Refusal::permits_max},
        Lowered{"ttl_min", {.ttl_min = 2min}, Refusal::ttl_out_of_range},
        Lowered{"ttl_max", {.ttl_max = 2s}, Refusal::ttl_out_of_range}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace holdfast::core
