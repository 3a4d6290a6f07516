#include "service/events/election.h"

#include <gtest/gtest.h>

namespace holdfast::service {
namespace {

using namespace std::chrono_literals;
using core::EventKind;

// A lease on the election `nightly`.
core::LeaseView lease_of(std::string_view holder, std::uint64_t fence,
                         std::string_view value = "") {
    core::LeaseView lease{.scope = core::Scope::named("nightly"), .owner = {.name = holder}};
    lease.token.fence = core::Fence{fence};
    lease.acquired_at = core::Time{1s};
    lease.value = value;
    lease.revision = value.empty() ? 0 : 1;
    return lease;
}

class ElectionTest : public ::testing::Test {
  protected:
    void begin(std::vector<core::LeaseView> holders, std::size_t waiters, std::uint64_t position) {
        core::LockView lock{.scope = core::Scope::named("nightly"), .waiter_count = waiters};
        lock.holders = std::move(holders);
        Response response;
        response.details = std::make_shared<const Details>(Details{.locks = {lock}});
        response.position = position;
        election_.begin(response);
    }
    bool follow(std::uint64_t id, EventKind kind, const core::LeaseView& lease,
                std::size_t queue_length = 0) {
        const core::Event event{.kind = kind, .lease = lease, .queue_length = queue_length};
        return election_.follow(FeedEvent(id, event, std::nullopt));
    }
    std::string json() const {
        std::string text;
        election_.append_json(text, clock_);
        return text;
    }

    const ManualClock clock_{WallTime{}};
    Election election_{"nightly"};
};

TEST_F(ElectionTest, WithoutALockHasNoLeader) {
    Response nothing;
    nothing.position = 9;
    election_.begin(nothing);
    EXPECT_EQ(json(), R"({"election":"nightly","candidates":0,"position":9})");
}

TEST_F(ElectionTest, IsLedByTheHolder) {
    begin({lease_of("ann", 7, "10.0.0.1")}, 2, 9);
    EXPECT_EQ(json(), R"({"election":"nightly","leader":"ann","value":"10.0.0.1","revision":1,)"
                      R"("fencing_token":7,"since":"1970-01-01T00:00:01.000Z","candidates":3,)"
                      R"("position":9})");
}

TEST_F(ElectionTest, FollowsTheEventsAfterTheSnapshot) {
    begin({lease_of("ann", 7)}, 1, 9);
    EXPECT_FALSE(follow(9, EventKind::released, lease_of("ann", 7))) << "the snapshot shows it";
    EXPECT_FALSE(follow(10, EventKind::queued, lease_of("cid", 0), 2));
    EXPECT_TRUE(follow(11, EventKind::released, lease_of("ann", 7), 2));
    EXPECT_EQ(json(), R"({"election":"nightly","candidates":2,"position":11})");
    EXPECT_TRUE(follow(12, EventKind::granted, lease_of("bob", 8, "b"), 1));
    EXPECT_EQ(election_.leader()->holder, "bob");
    EXPECT_FALSE(follow(13, EventKind::renewed, lease_of("bob", 8, "b"), 1));
    core::LeaseView changed = lease_of("bob", 8, "c");
    changed.revision = 2;
    EXPECT_TRUE(follow(14, EventKind::value_set, changed, 1));
    EXPECT_EQ(election_.leader()->value, "c");
    EXPECT_EQ(election_.leader()->revision, 2U);
    EXPECT_TRUE(follow(15, EventKind::expired, changed, 1));
    EXPECT_FALSE(election_.leader());
}

TEST_F(ElectionTest, IsNotAboutOtherLocks) {
    begin({lease_of("ann", 7)}, 0, 9);
    core::LeaseView other = lease_of("bob", 8);
    other.scope = core::Scope::named("nightly2");
    EXPECT_FALSE(follow(10, EventKind::granted, other));
    other.scope = core::Scope::semaphore("nightly");
    EXPECT_FALSE(follow(11, EventKind::granted, other));
    EXPECT_EQ(election_.position(), 11U);
    EXPECT_EQ(election_.leader()->holder, "ann");
}

TEST_F(ElectionTest, HearsOfALeaseOnSeveralScopes) {
    begin({}, 0, 9);
    core::LeaseView several = lease_of("bob", 8);
    several.scope = core::Scope::path("/x");
    several.members = "2;x 7:path:/x,x 7:nightly,";
    EXPECT_TRUE(follow(10, EventKind::granted, several));
    EXPECT_EQ(election_.leader()->holder, "bob");
}

TEST_F(ElectionTest, OfSharedHoldersIsLedByTheOldest) {
    begin({lease_of("ann", 7), lease_of("bob", 8)}, 0, 9);
    EXPECT_FALSE(follow(10, EventKind::granted, lease_of("cid", 9)));
    EXPECT_FALSE(follow(11, EventKind::released, lease_of("bob", 8)));
    EXPECT_TRUE(follow(12, EventKind::released, lease_of("ann", 7)));
    EXPECT_EQ(election_.leader()->holder, "cid");
}

TEST_F(ElectionTest, IsNotLedByAHolderInGrace) {
    core::LeaseView expired = lease_of("ann", 7);
    expired.state = core::LeaseState::grace;
    begin({expired}, 0, 9);
    EXPECT_FALSE(election_.leader());
}

}  // namespace
}  // namespace holdfast::service
