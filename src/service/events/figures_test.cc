#include "service/events/figures.h"

#include <gtest/gtest.h>

#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

const ServiceFigures& measure(TestService& at) {
    const Response* const response = at.service.submit(Measure{});
    return response->figures();
}

TEST(Figures, CountWhatWasAskedAndWhatCameOfIt) {
    TestService at(Durability::none);
    at.ask(take("laptop1"));
    at.ask(take("laptop2"));
    at.ask(core::RenewRequest{.token = {.fence = core::Fence{1}, .secret = core::Secret{1}}});
    at.ask(core::RenewRequest{.token = {.fence = core::Fence{1}, .secret = core::Secret{2}}});
    at.ask(give_back("laptop2"));
    at.ask(give_back("laptop1"));
    const ServiceFigures& seen = measure(at);
    EXPECT_EQ(seen.acquire.success, 1U);
    EXPECT_EQ(seen.acquire.fail, 1U);
    EXPECT_EQ(seen.renew.success, 1U);
    EXPECT_EQ(seen.renew.fail, 1U);
    EXPECT_EQ(seen.release.success, 1U);
    EXPECT_EQ(seen.release.fail, 1U);
    EXPECT_EQ(seen.acquire.latency_ms.count(), 2U);
}

TEST(Figures, CountAnOwnerThatAsksAgainAsRenewing) {
    TestService at(Durability::none);
    core::AcquireRequest request = take("laptop1");
    request.renew_own = true;
    at.ask(request);
    at.ask(request);
    EXPECT_EQ(measure(at).acquire.success, 1U);
    EXPECT_EQ(measure(at).renew.success, 1U);
}

TEST(Figures, CountARequestThatIsRepeatedOnce) {
    TestService at(Durability::none);
    at.ask(with_id(take("laptop1"), "r1"));
    at.ask(with_id(take("laptop1"), "r1"));
    EXPECT_EQ(measure(at).acquire.success, 1U);
    EXPECT_EQ(measure(at).acquire.fail, 0U);
}

TEST(Figures, CountWaitsHoldsAndExpiries) {
    TestService at(Durability::none);
    at.ask(take("laptop1"));
    at.ask(wait_for("laptop2"));
    at.ask(wait_for("laptop3", 5s));
    at.ask(wait_for("laptop4"));
    at.service.abandon(at.promise);
    EXPECT_EQ(measure(at).table.waiters, 2U);
    at.advance(30s);
    const ServiceFigures& seen = measure(at);
    EXPECT_EQ(seen.expired, 1U);
    EXPECT_EQ(seen.waits_granted, 1U);
    EXPECT_EQ(seen.waits_timed_out, 1U);
    EXPECT_EQ(seen.waits_cancelled, 1U);
    EXPECT_DOUBLE_EQ(seen.wait_seconds.sum(), 30);
    EXPECT_DOUBLE_EQ(seen.hold_seconds.sum(), 30);
    EXPECT_EQ(seen.sweep_seconds.count(), 1U);
    EXPECT_EQ(seen.table.leases, 1U);
    EXPECT_EQ(seen.acquire.success, 2U);
    EXPECT_EQ(seen.acquire.fail, 1U);
}

TEST(Figures, MeasureTheCommitAndCountItsFailure) {
    TestService at(Durability::full);
    at.ask(take("laptop1"));
    at.executor.settle();
    at.clock.advance(7ms);
    at.store.finish();
    at.executor.settle();
    EXPECT_DOUBLE_EQ(measure(at).acquire.latency_ms.sum(), 7);
    at.ask(take("laptop1", "b"));
    at.executor.settle();
    at.store.fail("disk full");
    at.executor.settle();
    EXPECT_EQ(measure(at).acquire.fail, 1U);
    EXPECT_EQ(measure(at).failure, "disk full") << "it answers though all else is refused";
}

}  // namespace
}  // namespace holdfast::service::testing
