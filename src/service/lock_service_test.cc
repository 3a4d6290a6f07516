// The service on a store that keeps nothing: who is answered when, and when it wakes.

#include "service/lock_service.h"

#include <gmock/gmock.h>

#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct VolatileService : ::testing::Test, TestService {
    VolatileService() : TestService(Durability::none) {}
};

TEST_F(VolatileService, AnswersAtOnceAndCommitsNothing) {
    EXPECT_EQ(ask(take("laptop1")), "granted laptop1");
    EXPECT_EQ(ask(take("laptop2")), "refused held");
    EXPECT_EQ(ask(give_back("laptop1")), "released");
    EXPECT_EQ(ask(give_back("laptop1")), "refused unknown_lease");
    executor.settle();
    EXPECT_THAT(store.commits, IsEmpty());
    EXPECT_THAT(notes, IsEmpty());
}

TEST_F(VolatileService, StampsRequestsWithTheTimeAndDrawsTheSecrets) {
    clock.advance(7s);
    const Response* response = service.submit(take("laptop1"));
    ASSERT_NE(response, nullptr);
    EXPECT_EQ(response->now, core::Time{7s});
    EXPECT_EQ(response->outcome.lease.expires_at, core::Time{37s});
    EXPECT_EQ(response->outcome.lease.token.secret, core::Secret{1});
    EXPECT_EQ(drawn, 1U);
}

TEST_F(VolatileService, TellsEventsInOrder) {
    ask(take("laptop1"));
    ask(wait_for("laptop2"));
    ask(give_back("laptop1"));
    EXPECT_THAT(events, IsEmpty()) << "those of a turn are told together";
    executor.settle();
    EXPECT_THAT(events, ElementsAre("granted laptop1", "queued laptop2", "released laptop1",
                                    "granted laptop2"));
}

TEST_F(VolatileService, ShowsLocksAndFindsLeases) {
    const Response* response = service.submit(take("laptop1"));
    ASSERT_NE(response, nullptr);
    const core::Token token = response->outcome.lease.token;
    ask(wait_for("laptop2"));

    response = service.submit(Inspect{.scope = core::Scope::named("job"), .waiters_max = 9});
    ASSERT_NE(response, nullptr);
    ASSERT_EQ(response->locks().size(), 1U);
    EXPECT_EQ(response->locks()[0].holders.at(0).owner.name, "laptop1");
    EXPECT_EQ(response->locks()[0].waiters.at(0).owner.name, "laptop2");

    response = service.submit(List{.query = {.prefix = "j"}});
    ASSERT_NE(response, nullptr);
    EXPECT_EQ(response->locks().size(), 1U);
    EXPECT_EQ(ask(Find{.token = token}), "found laptop1");
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), "renewed laptop1");
    EXPECT_EQ(ask(core::ReleaseRequest{.token = token}), "released");
    EXPECT_EQ(ask(Find{.token = token}), "refused lease_ended");

    response = service.submit(Inspect{.scope = core::Scope::named("free")});
    ASSERT_NE(response, nullptr);
    EXPECT_THAT(response->locks(), IsEmpty());
}

TEST_F(VolatileService, WhatItShowsIsUpToDateBeforeItsTimerRings) {
    ask(take("laptop1"));
    clock.advance(31s);
    const Response* response = service.submit(Inspect{.scope = core::Scope::named("job")});
    ASSERT_NE(response, nullptr);
    EXPECT_THAT(response->locks(), IsEmpty());
}

TEST_F(VolatileService, ForceReleaseCountsWhatItEnded) {
    ask(take("laptop1"));
    const ForceRelease request{.scope = core::Scope::named("job")};
    EXPECT_EQ(service.submit(request)->count, 1U);
    EXPECT_EQ(service.submit(request)->count, 0U);
}

TEST_F(VolatileService, AWaiterIsAnsweredByItsGrantAtTheEndOfTheTurn) {
    ask(take("laptop1"));
    EXPECT_EQ(ask(wait_for("laptop2")), "later");
    executor.settle();
    EXPECT_THAT(notes, IsEmpty());
    EXPECT_EQ(ask(give_back("laptop1")), "released");
    EXPECT_THAT(notes, IsEmpty()) << "an answer must not come inside submit()";
    executor.settle();
    EXPECT_THAT(notes, ElementsAre("granted laptop2"));
}

TEST_F(VolatileService, AWaiterIsAnsweredByTheExpiryBeforeIt) {
    ask(take("laptop1"));
    ask(wait_for("laptop2"));
    executor.settle();
    advance(29s);
    EXPECT_THAT(notes, IsEmpty());
    advance(1s);
    EXPECT_THAT(notes, ElementsAre("granted laptop2"));
}

TEST_F(VolatileService, AWaiterIsAnsweredByItsTimeOut) {
    ask(take("laptop1"));
    ask(wait_for("laptop2", 10s));
    advance(10s);
    EXPECT_THAT(notes, ElementsAre("refused timed_out"));
    EXPECT_EQ(service.counts().waiters, 0U);
}

TEST_F(VolatileService, WaitersAreAnsweredInOrder) {
    ask(take("laptop1"));
    for (const char* owner : {"laptop2", "laptop3", "laptop4"}) ask(wait_for(owner));
    for (int lease = 0; lease < 3; ++lease) advance(30s);
    EXPECT_THAT(notes, ElementsAre("granted laptop2", "granted laptop3", "granted laptop4"));
}

TEST_F(VolatileService, TheEndOfItsSessionAnswersAWaiter) {
    ask(take("laptop1"));
    const core::SessionId session = service.submit(OpenSession{.owner = {.name = "tcp"}})->session;
    core::AcquireRequest request = wait_for("laptop2");
    request.session = session;
    EXPECT_EQ(ask(request), "later");
    const Response* response = service.submit(EndSession{.session = session});
    ASSERT_NE(response, nullptr);
    EXPECT_EQ(response->count, 1U);
    executor.settle();
    EXPECT_THAT(notes, ElementsAre("refused unknown_session"));
    EXPECT_EQ(service.counts().waiters, 0U);
    EXPECT_EQ(service.submit(EndSession{.session = session})->count, 0U);
}

TEST_F(VolatileService, TwoPhaseIsQueuedAtOnceAndGrantedLater) {
    ask(take("laptop1"));
    const core::SessionId session = service.submit(OpenSession{.owner = {.name = "tcp"}})->session;
    core::AcquireRequest request = take("laptop2");
    request.session = session;
    EXPECT_EQ(ask(Enqueue{.request = request}), "queued");
    EXPECT_EQ(ask(Wait{.session = session, .scope = core::Scope::named("job"), .timeout = 10s}),
              "later");
    ask(give_back("laptop1"));
    executor.settle();
    EXPECT_THAT(notes, ElementsAre("granted laptop2"));
}

TEST_F(VolatileService, TwoPhaseIsGrantedAtOnceByWaitWhatCameInBetween) {
    ask(take("laptop1"));
    const core::SessionId session = service.submit(OpenSession{.owner = {.name = "tcp"}})->session;
    core::AcquireRequest request = take("laptop2");
    request.session = session;
    ask(Enqueue{.request = request});
    ask(give_back("laptop1"));
    executor.settle();
    EXPECT_THAT(notes, IsEmpty());
    EXPECT_EQ(ask(Wait{.session = session, .scope = core::Scope::named("job"), .timeout = 10s}),
              "granted laptop2");
}

TEST_F(VolatileService, AnAnswerMaySubmitAgain) {
    ask(take("laptop1"));
    ASSERT_EQ(service.submit(wait_for("laptop2")), nullptr);
    service.await(std::make_unique<NotedAnswer>(notes, "", [&](const Response&) {
        notes.push_back("then " + ask(wait_for("laptop3")));
        notes.push_back("then " + ask(give_back("laptop2")));
    }));
    ask(give_back("laptop1"));
    executor.end_turn();
    EXPECT_THAT(notes,
                ElementsAre("granted laptop2", "then later", "then released", "granted laptop3"));
}

TEST_F(VolatileService, WakesNoLaterThanTheNextDeadline) {
    executor.end_turn();
    EXPECT_EQ(executor.wake_delay, std::nullopt);
    ask(take("laptop1"));
    executor.end_turn();
    EXPECT_EQ(executor.wake_delay, 30s);
    ask(wait_for("laptop2", 5s));
    executor.end_turn();
    EXPECT_EQ(executor.wake_delay, 5s);
    advance(5s);
    EXPECT_EQ(executor.wake_delay, 25s);
}

TEST_F(VolatileService, ATimerThatRangTooEarlyIsSetAgain) {
    ask(take("laptop1"));
    executor.end_turn();
    clock.advance(10s);
    executor.ring();
    EXPECT_EQ(executor.wake_delay, 20s);
    EXPECT_EQ(service.counts().leases, 1U);
    clock.advance(1h);
    executor.ring();
    EXPECT_EQ(service.counts().leases, 0U);
    EXPECT_EQ(executor.wake_delay, std::nullopt);
}

}  // namespace
}  // namespace holdfast::service::testing
