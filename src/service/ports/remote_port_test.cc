// A port on another thread, first by hand, one hand-over at a time.

#include "service/ports/remote_port.h"

#include <gmock/gmock.h>

#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A port and a service whose threads run when the test says so.
struct Remote : TestService {
    explicit Remote(Durability durability = Durability::none) : TestService(durability) {}

    // Hands in a request, and ends the turn here.
    PromiseId submit(const Request& request, const std::string& prefix = "") {
        const PromiseId asked = submit_in_turn(request, prefix);
        here.end_turn();
        return asked;
    }
    PromiseId submit_in_turn(const Request& request, const std::string& prefix = "") {
        EXPECT_EQ(port.submit(request), nullptr);
        return port.await(std::make_unique<NotedAnswer>(notes, prefix));
    }
    void abandon(PromiseId asked) {
        port.abandon(asked);
        here.end_turn();
    }

    // Both threads run until neither has anything to do.
    void settle() {
        do {
            executor.settle();
            here.settle();
        } while (executor.run_one() || here.run_one());
    }

    ManualExecutor& there = executor;
    ManualExecutor here;
    RemotePort port{here, executor, service};
};

TEST(RemotePort, AnswersComeBackInAnotherTurn) {
    Remote remote;
    remote.submit(take("laptop1"));
    remote.there.settle();
    EXPECT_THAT(remote.notes, IsEmpty());
    EXPECT_EQ(remote.service.counts().leases, 1U);
    remote.here.settle();
    EXPECT_THAT(remote.notes, ElementsAre("granted laptop1"));
}

TEST(RemotePort, ATurnTravelsAsOneBatchAndComesBackInOrder) {
    Remote remote;
    remote.submit_in_turn(take("laptop1"), "1 ");
    remote.submit_in_turn(take("laptop2"), "2 ");
    remote.submit_in_turn(give_back("laptop1"), "3 ");
    remote.submit_in_turn(take("laptop2"), "4 ");
    EXPECT_FALSE(remote.there.run_one()) << "the turn may bring more";
    remote.here.end_turn();
    EXPECT_TRUE(remote.there.run_one());  // all four requests
    EXPECT_TRUE(remote.there.run_one());  // all four answers leave
    EXPECT_FALSE(remote.there.run_one());
    EXPECT_TRUE(remote.here.run_one());
    EXPECT_FALSE(remote.here.run_one());
    EXPECT_THAT(remote.notes, ElementsAre("1 granted laptop1", "2 refused held", "3 released",
                                          "4 granted laptop2"));
}

TEST(RemotePort, TheTextsOfARequestMayGoAfterSubmit) {
    Remote remote;
    {
        const auto job =
            std::make_unique<std::string>("a job with a rather long name, on the heap");
        const auto owner = std::make_unique<std::string>("an owner with a long name, on the heap");
        remote.submit(take(*owner, *job));
    }
    remote.settle();
    EXPECT_THAT(remote.notes, ElementsAre("granted an owner with a long name, on the heap"));
}

TEST(RemotePort, PassesOnWhoAsks) {
    Remote remote;
    {
        const auto by = std::make_unique<std::string>("a token with a name that is on the heap");
        static_cast<void>(remote.port.submit(take("laptop1"), *by));
        remote.port.await(answer_by([](const Response&) {}));
    }
    remote.here.end_turn();
    remote.settle();
    EXPECT_THAT(remote.askers, ElementsAre("a token with a name that is on the heap"));
}

TEST(RemotePort, WaitersAreAnsweredWhenTheirTurnComes) {
    Remote remote;
    remote.ask(take("laptop1"));
    remote.submit(wait_for("laptop2"));
    remote.settle();
    EXPECT_THAT(remote.notes, IsEmpty());
    remote.ask(give_back("laptop1"));
    remote.settle();
    EXPECT_THAT(remote.notes, ElementsAre("granted laptop2"));
}

TEST(RemotePort, AnAnswerMaySubmitAgain) {
    Remote remote;
    EXPECT_EQ(remote.port.submit(take("laptop1")), nullptr);
    remote.port.await(std::make_unique<NotedAnswer>(remote.notes, "", [&](const Response&) {
        remote.submit_in_turn(give_back("laptop1"), "then ");
    }));
    remote.here.end_turn();
    remote.settle();
    EXPECT_THAT(remote.notes, ElementsAre("granted laptop1", "then released"));
}

TEST(RemotePort, AbandonedInTheTurnOfItsRequest) {
    Remote remote;
    const PromiseId asked = remote.submit_in_turn(take("laptop1"));
    remote.abandon(asked);
    remote.settle();
    EXPECT_EQ(remote.service.counts().leases, 0U);
    EXPECT_THAT(remote.events, ElementsAre("granted laptop1", "released laptop1"));
    EXPECT_THAT(remote.notes, IsEmpty());
}

TEST(RemotePort, AbandonedWhileTheGrantIsOnItsWayBack) {
    Remote remote;
    const PromiseId asked = remote.submit(take("laptop1"));
    remote.there.settle();  // the answer is posted, but not received
    remote.abandon(asked);
    EXPECT_EQ(remote.service.counts().leases, 1U);
    remote.settle();
    EXPECT_EQ(remote.service.counts().leases, 0U);
    EXPECT_THAT(remote.notes, IsEmpty());
}

TEST(RemotePort, ARequestThatComesAfterAnAbandonedOneGetsItsOwnAnswer) {
    Remote remote;
    const PromiseId asked = remote.submit(take("laptop1"), "first: ");
    remote.there.settle();  // the answer is posted, but not received
    remote.abandon(asked);
    remote.submit(take("laptop2"), "second: ");
    remote.abandon(asked);
    remote.settle();
    EXPECT_THAT(remote.notes, ElementsAre("second: refused held"));
    remote.submit(take("laptop2"), "third: ");
    remote.settle();
    EXPECT_THAT(remote.notes, ElementsAre("second: refused held", "third: granted laptop2"));
}

TEST(RemotePort, AGrantWithARequestIdIsKeptForItsClientToAskAgain) {
    Remote remote;
    core::AcquireRequest request = take("laptop1");
    request.notes.request_id = "r1";
    const PromiseId asked = remote.submit(request);
    remote.there.settle();
    remote.abandon(asked);
    remote.settle();
    remote.submit(request);
    remote.settle();
    EXPECT_THAT(remote.notes, ElementsAre("granted laptop1"));
    EXPECT_EQ(remote.service.counts().leases, 1U);
}

// A client asks, hears nothing, and asks again by another connection; then the first one dies.
TEST(RemotePort, ALeaseIsLeftToItsOwnerWhoAskedAgain) {
    Remote remote;
    core::AcquireRequest sticky = take("laptop1");
    sticky.renew_own = true;
    const PromiseId first = remote.submit(sticky, "first: ");
    remote.there.settle();  // the answer is posted, but not received
    EXPECT_EQ(remote.ask(sticky), "renewed laptop1") << "on the service's own thread";
    remote.abandon(first);
    remote.settle();
    EXPECT_EQ(remote.service.counts().leases, 1U);
}

TEST(RemotePort, ALeaseThatNeitherOfTwoRequestsHeardOfIsReleased) {
    Remote remote;
    core::AcquireRequest sticky = take("laptop1");
    sticky.renew_own = true;
    const PromiseId first = remote.submit(sticky);
    const PromiseId again = remote.submit(sticky);
    remote.there.settle();
    remote.abandon(again);
    remote.abandon(first);
    EXPECT_EQ(remote.service.counts().leases, 1U);
    remote.settle();
    EXPECT_EQ(remote.service.counts().leases, 0U);
}

TEST(RemotePort, AnAbandonedLookAtALeaseDoesNotEndIt) {
    Remote remote;
    const core::Token token = remote.service.submit(take("laptop1"))->outcome.lease.token;
    const PromiseId find = remote.submit(Find{.token = token});
    const PromiseId renew = remote.submit(core::RenewRequest{.token = token});
    remote.there.settle();
    remote.abandon(find);
    remote.abandon(renew);
    remote.settle();
    EXPECT_EQ(remote.service.counts().leases, 1U);
}

TEST(RemotePort, AnAbandonedSessionEnds) {
    Remote remote;
    const PromiseId asked = remote.submit(OpenSession{.owner = {.name = "laptop1"}});
    remote.there.settle();
    remote.abandon(asked);
    remote.settle();
    EXPECT_EQ(remote.service.counts().sessions, 0U);
}

TEST(RemotePort, AbandonedWhileItWaitsInTheQueue) {
    Remote remote;
    remote.ask(take("laptop1"));
    const PromiseId asked = remote.submit(wait_for("laptop2"));
    remote.settle();
    EXPECT_EQ(remote.service.counts().waiters, 1U);
    remote.abandon(asked);
    remote.settle();
    EXPECT_EQ(remote.service.counts().waiters, 0U);
    EXPECT_EQ(remote.service.counts().leases, 1U) << "the holder's lease is not the waiter's";
}

TEST(RemotePort, AbandonedWhenItsWaitHasJustBeenGranted) {
    Remote remote;
    remote.ask(take("laptop1"));
    const PromiseId asked = remote.submit(wait_for("laptop2"));
    remote.settle();
    remote.ask(give_back("laptop1"));
    remote.there.end_turn();  // granted; the answer has not left the service's thread
    remote.abandon(asked);
    remote.settle();
    EXPECT_EQ(remote.service.counts().leases, 0U);
    EXPECT_THAT(remote.notes, IsEmpty());
}

TEST(RemotePort, AbandonedBeforeItsCommit) {
    Remote remote(Durability::full);
    const PromiseId asked = remote.submit(take("laptop1"));
    remote.there.settle();
    ASSERT_TRUE(remote.store.is_committing());
    remote.abandon(asked);
    remote.settle();
    remote.store.finish();
    remote.settle();
    EXPECT_THAT(remote.store.commits.back(), ElementsAre("released job laptop1"));
    EXPECT_THAT(remote.notes, IsEmpty());
}

TEST(RemotePort, AbandonedRefusalsAndReleasesEndNothing) {
    Remote remote;
    remote.ask(take("laptop1"));
    const PromiseId refused = remote.submit(take("laptop2"));
    remote.there.settle();
    remote.abandon(refused);
    remote.settle();
    EXPECT_EQ(remote.service.counts().leases, 1U);
}

TEST(RemotePort, AbandoningAfterTheAnswerDoesNothing) {
    Remote remote;
    const PromiseId asked = remote.submit(take("laptop1"));
    remote.settle();
    remote.abandon(asked);
    remote.settle();
    EXPECT_EQ(remote.service.counts().leases, 1U);
    EXPECT_THAT(remote.notes, ElementsAre("granted laptop1"));
}

TEST(RemotePort, AFailedCommitIsToldHereToo) {
    Remote remote(Durability::full);
    remote.submit(take("laptop1"));
    remote.settle();
    remote.store.fail("disk full");
    remote.settle();
    EXPECT_THAT(remote.notes, ElementsAre("failed: disk full"));
}

}  // namespace
}  // namespace holdfast::service::testing
