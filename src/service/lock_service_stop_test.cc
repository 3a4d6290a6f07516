// A server that is about to end.

#include <gmock/gmock.h>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(StoppingService, TellsEverybodyWhoWaits) {
    TestService at(Durability::none);
    at.ask(take("a"));
    at.ask(wait_for("b"), "b: ");
    core::AcquireRequest shared = wait_for("c");
    shared.mode = core::Mode::shared;
    at.ask(shared, "c: ");
    core::AcquireRequest with_id = wait_for("d");
    with_id.notes.request_id = "r1";
    at.ask(with_id, "d: ");
    at.service.begin_stop();
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), UnorderedElementsAre("b: refused stopping", "c: refused stopping",
                                                      "d: refused stopping"));
    EXPECT_EQ(at.service.counts().waiters, 0U);
    at.ask(give_back("a"));
    at.executor.settle();
    EXPECT_EQ(at.service.counts().leases, 0U) << "nobody moves up who was told to come back later";
}

TEST(StoppingService, GivesNothingNewAway) {
    TestService at(Durability::none);
    at.service.begin_stop();
    EXPECT_EQ(at.ask(take("a")), "refused stopping");
    EXPECT_EQ(at.ask(wait_for("a")), "refused stopping");
    EXPECT_EQ(at.ask(Enqueue{.request = take("a")}), "refused stopping");
}

TEST(StoppingService, RenewsAndReleases) {
    TestService at(Durability::none);
    const Response* const granted = at.service.submit(take("a"));
    const core::Token token = granted->outcome.lease.token;
    core::AcquireRequest homelab = take("b", "other");
    homelab.renew_own = true;
    EXPECT_EQ(at.ask(homelab), "granted b");
    at.service.begin_stop();
    EXPECT_EQ(at.ask(core::RenewRequest{.token = token}), "renewed a");
    EXPECT_EQ(at.ask(homelab), "renewed b") << "the owner only asks for what it has";
    homelab.owner.name = "c";
    EXPECT_EQ(at.ask(homelab), "refused stopping");
    EXPECT_EQ(at.ask(core::ReleaseRequest{.token = token}), "released");
    EXPECT_EQ(at.ask(give_back("b", "other")), "released");
}

TEST(StoppingService, TellsAClientThatAsksAgainOfTheLeaseItHas) {
    TestService at(Durability::none);
    core::AcquireRequest request = take("a");
    request.notes.request_id = "r1";
    at.ask(request);
    at.service.begin_stop();
    EXPECT_EQ(at.ask(request), "granted a");
}

TEST(StoppingService, KeepsNoPlaceInAQueue) {
    TestService at(Durability::none);
    core::AcquireRequest holder = take("a");
    holder.ttl = 24h;
    at.ask(holder);
    core::AcquireRequest request = wait_for("b");
    request.notes.request_id = "r1";
    at.ask(request, "b: ");
    at.advance(WaitLimits{}.answer_max);
    EXPECT_THAT(at.take_notes(), ElementsAre("b: refused still_waiting"));
    at.service.begin_stop();
    EXPECT_EQ(at.service.counts().waiters, 0U);
    EXPECT_EQ(at.ask(request), "refused stopping");
}

TEST(StoppingService, AnswersAfterTheCommitThatIsUnderWay) {
    TestService at(Durability::full);
    at.ask(take("a"), "a: ");
    at.ask(wait_for("b"), "b: ");
    at.executor.settle();
    at.service.begin_stop();
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), ElementsAre("b: refused stopping"));
    at.store.finish();
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), ElementsAre("a: granted a"));
    EXPECT_THAT(at.notes, IsEmpty());
}

}  // namespace
}  // namespace holdfast::service::testing
