// The service and what its store remembers: at the start, and after a failed commit.

#include <gmock/gmock.h>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct RecoveredService : ::testing::Test, TestService {
    RecoveredService() : TestService(Durability::full) {}

    // The store has a thirty-second lease of laptop1 on `job`, with the number 41.
    void remember() {
        core::RestoreRequest lease{
            {.scope = core::Scope::named("job"), .owner = {.name = "laptop1"}, .ttl = 30s}};
        lease.token = token;
        lease.remaining = 30s;
        store.remembered = {lease};
        store.next_fence = 50;
    }

    const core::Token token{.fence = core::Fence{41}, .secret = core::Secret{7}};
};

TEST_F(RecoveredService, HoldsWhatTheStoreRemembers) {
    remember();
    ASSERT_TRUE(recover());
    EXPECT_EQ(ask(take("laptop2")), "refused held");
    EXPECT_EQ(ask(Find{.token = token}), "found laptop1");
    advance(30s);
    EXPECT_EQ(ask(take("laptop2")), "later") << "its full TTL is over";
}

// Nobody can renew while the store is read, so that this costs nobody any of its time.
TEST_F(RecoveredService, LeasesBeginTheirTimeWhenAllOfTheStoreIsRead) {
    remember();
    store.remembered.front().ttl = store.remembered.front().remaining = 5s;
    core::RestoreRequest second = store.remembered.front();
    second.scope = core::Scope::named("second");
    second.token.fence = core::Fence{42};
    second.grace = 5s;
    second.is_in_grace = true;
    store.remembered.push_back(second);
    store.on_read = [this] { clock.advance(10s); };
    ASSERT_TRUE(recover());
    advance(5s - 1us);
    EXPECT_EQ(ask(Find{.token = token}), "found laptop1");
    EXPECT_EQ(ask(take("laptop2", "second")), "refused in_grace");
    advance(1us);
    EXPECT_EQ(service.counts().leases, 0U);
    EXPECT_EQ(ask(take("laptop2", "second")), "later") << "granted, once that is on disk";
}

TEST_F(RecoveredService, NeverGivesOutAnOldNumber) {
    remember();
    ASSERT_TRUE(recover());
    ASSERT_EQ(service.submit(take("laptop2", "other")), nullptr);
    core::Fence fence{};
    service.await(std::make_unique<NotedAnswer>(
        notes, "", [&](const Response& r) { fence = r.outcome.lease.token.fence; }));
    executor.settle();
    store.finish();
    executor.settle();
    EXPECT_EQ(fence, core::Fence{50});
}

TEST_F(RecoveredService, WritesTheFirstRenewalAndNoOther) {
    remember();
    ASSERT_TRUE(recover());
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), "later");
    executor.settle();
    store.finish();
    executor.settle();
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), "renewed laptop1");
    executor.settle();
    EXPECT_THAT(store.commits, ElementsAre(ElementsAre("renewed job laptop1")));
}

TEST_F(RecoveredService, DoesNotSpeakOfALeaseThatACrashCouldUndo) {
    core::AcquireRequest again = take("laptop1");
    again.renew_own = true;
    EXPECT_EQ(ask(again, "granted: "), "later");
    EXPECT_EQ(ask(again, "before the commit: "), "later") << "a renewal of what is not on disk";
    executor.settle();
    EXPECT_EQ(ask(again, "during it: "), "later");
    EXPECT_THAT(notes, IsEmpty());
    store.finish();
    executor.settle();
    EXPECT_THAT(notes, ElementsAre("granted: granted laptop1", "before the commit: renewed laptop1",
                                   "during it: renewed laptop1"));
    EXPECT_EQ(ask(again), "renewed laptop1") << "now it is on disk";
}

TEST_F(RecoveredService, BeginsAnewFromTheStoreAfterAFailedCommit) {
    remember();
    ASSERT_TRUE(recover());
    ask(take("laptop2", "other"));
    executor.settle();
    store.fail("disk full");
    store.cannot_recover = "disk full";
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("failed: disk full"));
    EXPECT_EQ(executor.wake_delay, core::Duration{1s});
    advance(1s);
    EXPECT_EQ(ask(take("laptop3", "other")), "failed: disk full");

    store.cannot_recover.clear();
    advance(1s);
    EXPECT_EQ(ask(take("laptop3")), "refused held") << "what was on disk is held";
    EXPECT_EQ(ask(take("laptop3", "other")), "later") << "what was not is free";
    EXPECT_EQ(store.recoveries, 4);
}

// The answer to a renewal was on its way to another thread when the store failed. Its holder has
// heard of the lease long ago.
TEST_F(RecoveredService, KeepsALeaseOfWhichAnAnswerFromBeforeIsGivenUp) {
    remember();
    ASSERT_TRUE(recover());
    service.give_up(token, LockService::Naming::once);
    EXPECT_EQ(service.counts().leases, 1U);
}

TEST_F(RecoveredService, SaysWhyItCannotBegin) {
    store.cannot_recover = "it is damaged";
    const auto recovered = recover();
    ASSERT_FALSE(recovered);
    EXPECT_EQ(recovered.error().message, "it is damaged");
}

// A connection that outlives a failure of the store must not speak for somebody else's session.
TEST(Recovery, DoesNotUseTheNumbersOfSessionsAgain) {
    TestService at(Durability::full);
    const core::SessionId old = at.service.submit(OpenSession{})->session;
    at.ask(take("laptop1"));
    at.executor.settle();
    at.store.fail("disk full");
    at.executor.settle();
    at.advance(1s);
    const core::SessionId fresh = at.service.submit(OpenSession{})->session;
    ASSERT_TRUE(fresh);
    EXPECT_NE(fresh.serial, old.serial);
    const Response* const ended = at.service.submit(EndSession{.session = old});
    EXPECT_EQ(ended->count, 0U);
    EXPECT_EQ(at.service.counts().sessions, 1U);
}

}  // namespace
}  // namespace holdfast::service::testing
