// The service on a store that keeps nothing: who is answered when, and when it wakes.

#include "service/lock_service.h"

#include <gmock/gmock.h>

#include "base/log/log.h"
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

// However many hold it: the answer has room for one.
TEST_F(VolatileService, ARefusedReleaseShowsOneHolder) {
    for (const char* owner : {"laptop1", "laptop2", "laptop3"}) {
        core::AcquireRequest request = take(owner);
        request.mode = core::Mode::shared;
        EXPECT_EQ(ask(request), std::string("granted ") + owner);
    }
    const Response* response = service.submit(give_back("a stranger"));
    ASSERT_NE(response, nullptr);
    EXPECT_EQ(response->outcome.refusal, core::Refusal::unknown_lease);
    ASSERT_EQ(response->locks().size(), 1U);
    ASSERT_EQ(response->locks()[0].holders.size(), 1U);
    EXPECT_EQ(response->locks()[0].holders[0].owner.name, "laptop1");
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
// A client that looks at the status alone would work as if it were the only holder.
TEST(RepeatedRequest, IsRefusedForAnotherModeOrLimit) {
    TestService at(Durability::none);
    core::AcquireRequest shared = with_id(take("a"), "r1");
    shared.mode = core::Mode::shared;
    EXPECT_EQ(at.ask(shared), "granted a");
    EXPECT_EQ(at.ask(with_id(take("a"), "r1")), "refused request_mismatch");
    EXPECT_EQ(at.ask(shared), "granted a") << "the id is still that of the first request";
    core::AcquireRequest waiting = with_id(wait_for("b"), "r2");
    EXPECT_EQ(at.ask(waiting), "later");
    waiting.mode = core::Mode::shared;
    EXPECT_EQ(at.ask(waiting), "refused request_mismatch");
    EXPECT_EQ(at.service.counts().waiters, 1U) << "the place in the queue is as before";

    core::AcquireRequest permit = with_id(take("a"), "r3");
    permit.scope = core::Scope::semaphore("pool");
    permit.limit = 3;
    EXPECT_EQ(at.ask(permit), "granted a");
    permit.mode = core::Mode::shared;  // permits have no modes
    EXPECT_EQ(at.ask(permit), "granted a");
    permit.limit = 4;
    EXPECT_EQ(at.ask(permit), "refused request_mismatch");
    EXPECT_EQ(at.service.counts().leases, 2U);
}

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

// Each look at it takes some time.
class SlowClock final : public Clock {
  public:
    explicit SlowClock(core::Duration step) : step_(step) {}

    [[nodiscard]] core::Time now() const override { return now_ += step_; }
    [[nodiscard]] WallTime wall(core::Time time) const override {
        return test_epoch + time.time_since_epoch();
    }
    void advance(core::Duration step) { now_ += step; }

  private:
    const core::Duration step_;
    mutable core::Time now_{};
};

// What is logged when two leases expire together, and ending them takes so long.
std::string logged_by_sweep(core::Duration takes, base::LogLevel least) {
    SlowClock clock(takes);
    TestStore store(true);
    ManualExecutor executor;
    LockService service({}, {.clock = clock,
                             .store = store,
                             .executor = executor,
                             .random = [] { return std::uint64_t{1}; },
                             .on_changes = {}});
    service.recover([](const auto& recovered) { CHECK(recovered); });
    for (const char* const job : {"a", "b"}) {
        CHECK(service.submit(take("laptop1", job))->outcome.kind == core::Outcome::Kind::granted);
    }
    CHECK(service.submit(take("laptop2", "c"))->outcome.kind == core::Outcome::Kind::granted);
    core::RenewRequest longer{.token = {.fence = core::Fence{3}, .secret = core::Secret{1}},
                              .ttl = core::Duration(1h)};
    CHECK(service.submit(longer)->outcome.kind == core::Outcome::Kind::renewed);
    clock.advance(30s);
    base::set_up_log(base::LogFormat::text, least);
    ::testing::internal::CaptureStderr();
    service.wake();
    EXPECT_TRUE(base::flush_log());
    std::string text = ::testing::internal::GetCapturedStderr();
    base::set_up_log(base::LogFormat::text, base::LogLevel::off);
    const auto begin = text.find(' ');  // behind the time
    return begin == std::string::npos ? text : text.substr(text.find_first_not_of(' ', begin));
}

// Each of them gives the lock back as soon as it has it. Other clients have their turn in between.
TEST(EndOfTurn, LetsOthersServeAfterManyAnswersThatLeadToAnswers) {
    constexpr int waiters = 500;
    TestService service(Durability::none);
    service.ask(take("first"));
    const auto give_it_back = [&service](const Response& response) {
        const std::string owner(response.outcome.lease.owner.name);
        EXPECT_NE(service.service.submit(give_back(owner)), nullptr);
    };
    for (int i = 0; i < waiters; ++i) {
        ASSERT_EQ(service.service.submit(wait_for("w" + std::to_string(i))), nullptr);
        service.service.await(
            std::make_unique<NotedAnswer>(service.notes, std::string(), give_it_back));
    }
    service.ask(give_back("first"));
    service.executor.end_turn();
    const std::size_t in_one_turn = service.notes.size();
    EXPECT_GT(in_one_turn, 10U);
    EXPECT_LT(in_one_turn, 100U);
    service.executor.settle();
    EXPECT_EQ(service.notes.size(), std::size_t{waiters});
}

TEST(Sweep, LogsHowManyLeasesExpiredTogetherAndHowLongThatTook) {
    EXPECT_EQ(logged_by_sweep(100ms, base::LogLevel::debug),
              "debug   sweep expired=2 latency_us=100000 held=1\n");
    EXPECT_EQ(logged_by_sweep(100ms, base::LogLevel::info), "");
    EXPECT_EQ(logged_by_sweep(101ms, base::LogLevel::info),
              "info    sweep expired=2 latency_us=101000 held=1\n");
}

}  // namespace
}  // namespace holdfast::service::testing
