// Requests that are made again by the same id.

#include <gmock/gmock.h>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

core::AcquireRequest with_id(core::AcquireRequest request, std::string_view id) {
    request.notes.request_id = id;
    return request;
}

TEST(RepeatedRequest, IsToldOfTheSameLease) {
    TestService at(Durability::none);
    const Response* first = at.service.submit(with_id(take("laptop1"), "r1"));
    ASSERT_NE(first, nullptr);
    const core::Token token = first->outcome.lease.token;
    at.clock.advance(10s);
    const Response* second = at.service.submit(with_id(take("laptop1"), "r1"));
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->outcome.kind, core::Outcome::Kind::granted);
    EXPECT_EQ(second->outcome.lease.token, token);
    EXPECT_EQ(second->outcome.lease.expires_at, core::Time{30s}) << "it is not extended";
    EXPECT_EQ(at.ask(with_id(take("laptop1"), "r2")), "refused held");
    EXPECT_EQ(at.ask(take("laptop1")), "refused held");
}

TEST(RepeatedRequest, IsNotGrantedASecondTime) {
    TestService at(Durability::none);
    at.ask(with_id(take("laptop1"), "r1"));
    at.ask(give_back("laptop1"));
    EXPECT_EQ(at.ask(with_id(take("laptop1"), "r1")), "refused request_ended");
    EXPECT_EQ(at.service.counts().leases, 0U);
    EXPECT_EQ(at.ask(with_id(take("laptop1"), "r2")), "granted laptop1");
    at.clock.advance(30s);  // expires, but nobody has looked yet
    EXPECT_EQ(at.ask(with_id(take("laptop1"), "r2")), "refused request_ended");
}

// Nothing else happens on the server in between.
TEST(RepeatedRequest, IsANewOneADayLater) {
    TestService at(Durability::none);
    at.ask(with_id(take("laptop1"), "nightly"));
    at.ask(give_back("laptop1"));
    at.clock.advance(10min - 1us);
    EXPECT_EQ(at.ask(with_id(take("laptop1"), "nightly")), "refused request_ended");
    at.clock.advance(1us);
    EXPECT_EQ(at.ask(with_id(take("laptop1"), "nightly")), "granted laptop1");
    at.ask(give_back("laptop1"));
    at.clock.advance(24h);
    EXPECT_EQ(at.ask(with_id(take("laptop1"), "nightly")), "granted laptop1");
}

TEST(RepeatedRequest, WakesTheServiceToBeForgotten) {
    TestService at(Durability::none);
    at.ask(with_id(take("laptop1"), "nightly"));
    at.ask(give_back("laptop1"));
    at.executor.settle();
    at.advance(30s);  // the lease's own deadline, which the wake-up was for
    EXPECT_EQ(at.executor.wake_delay, core::Duration{10min + 30s});
    at.advance(10min + 30s);
    EXPECT_EQ(at.executor.wake_delay, std::nullopt) << "there is nothing left to wake up for";
}

TEST(RepeatedRequest, TakesOverThePlaceInTheQueue) {
    TestService at(Durability::none);
    at.ask(take("laptop1"));
    at.ask(with_id(wait_for("laptop2"), "r1"), "old: ");
    const PromiseId old = at.promise;
    at.ask(wait_for("laptop3"), "3: ");
    EXPECT_EQ(at.ask(with_id(wait_for("laptop2"), "r1"), "new: "), "later");
    EXPECT_EQ(at.service.counts().waiters, 2U);
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), ElementsAre("old: refused request_superseded"));
    at.service.abandon(old);  // its connection dies late
    at.ask(give_back("laptop1"));
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), ElementsAre("new: granted laptop2"));
}

TEST(RepeatedRequest, WithoutAWaitGivesThePlaceInTheQueueUp) {
    TestService at(Durability::none);
    at.ask(take("laptop1"));
    at.ask(with_id(wait_for("laptop2"), "r1"), "old: ");
    at.ask(wait_for("laptop3"), "3: ");
    EXPECT_EQ(at.ask(with_id(take("laptop2"), "r1")), "refused held");
    EXPECT_EQ(at.service.counts().waiters, 1U);
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), ElementsAre("old: refused request_superseded"));
    at.ask(give_back("laptop1"));
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), ElementsAre("3: granted laptop3"));
}

// The connection died between the grant and its answer; the client asks again over another one.
TEST(RepeatedRequest, FindsAGrantWhoseAnswerWasLost) {
    TestService at(Durability::full);
    at.ask(with_id(take("laptop1"), "r1"));
    const PromiseId lost = at.promise;
    at.executor.settle();
    at.service.abandon(lost);
    EXPECT_EQ(at.ask(with_id(take("laptop1"), "r1"), "again: "), "later") << "not committed yet";
    at.executor.settle();
    EXPECT_THAT(at.notes, IsEmpty());
    at.store.finish();
    at.executor.settle();
    EXPECT_THAT(at.notes, ElementsAre("again: granted laptop1"));
    EXPECT_EQ(at.service.counts().leases, 1U);
}

TEST(RepeatedRequest, IsKnownAfterARestart) {
    TestService at(Durability::full);
    core::RestoreRequest lease{
        {.scope = core::Scope::named("job"), .owner = {.name = "laptop1"}, .ttl = 30s}};
    lease.token = {.fence = core::Fence{5}, .secret = core::Secret{6}};
    lease.remaining = 30s;
    lease.notes.request_id = "r1";
    at.store.remembered.push_back(lease);
    ASSERT_TRUE(at.recover());
    const Response* response = at.service.submit(with_id(take("laptop1"), "r1"));
    ASSERT_NE(response, nullptr);
    EXPECT_EQ(response->outcome.lease.token, lease.token);
}

}  // namespace
}  // namespace holdfast::service::testing
