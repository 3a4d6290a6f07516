// Waits that are longer than a client is kept without an answer.

#include <gmock/gmock.h>

#include "service/lock_service.h"
#include "service/ports/remote_port.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr core::Duration answer_max = WaitLimits{}.answer_max;
constexpr core::Duration place_kept = WaitLimits{}.place_kept;

// A holder whose lease outlasts every wait here.
core::AcquireRequest take_for_long(std::string_view owner) {
    core::AcquireRequest request = take(owner);
    request.ttl = 24h;
    return request;
}

// `holder` holds the job, and `first` and `second` wait for it; `first` has been told to ask again.
struct LongWait : TestService {
    explicit LongWait(Durability durability = Durability::none) : TestService(durability) {
        ask(take_for_long("holder"), "holder: ");
        finish_commit();
        ask(with_id(wait_for("first"), "r1"), "first: ");
        ask(wait_for("second"), "second: ");
        advance(answer_max - 1us);
        EXPECT_THAT(notes, IsEmpty());
        advance(1us);
        EXPECT_THAT(take_notes(), ElementsAre("first: refused still_waiting"));
    }

    void finish_commit() {
        executor.settle();
        if (store.is_volatile()) return;
        store.finish();
        executor.settle();
        take_notes();
    }
    void release() {
        ask(give_back("holder"));
        executor.settle();
    }
};

TEST(LongWait, ThatAsksAgainKeepsItsPlaceInTheQueue) {
    LongWait at;
    EXPECT_EQ(at.service.counts().waiters, 2U);
    at.advance(place_kept - 1us);
    EXPECT_EQ(at.ask(with_id(wait_for("first"), "r1"), "again: "), "later");
    EXPECT_EQ(at.service.counts().waiters, 2U);
    at.release();
    EXPECT_THAT(at.take_notes(), ElementsAre("again: granted first"));
}

TEST(LongWait, GoesOnForAsLongAsItIsAskedAgain) {
    LongWait at;
    for (int turn = 0; turn < 20; ++turn) {
        at.advance(1s);
        EXPECT_EQ(at.ask(with_id(wait_for("first"), "r1"), "again: "), "later");
        at.advance(answer_max);
        EXPECT_THAT(at.take_notes(), ElementsAre("again: refused still_waiting"));
    }
    at.ask(with_id(wait_for("first"), "r1"), "again: ");
    at.release();
    EXPECT_THAT(at.take_notes(), ElementsAre("again: granted first"));
}

TEST(LongWait, ThatDoesNotAskAgainInTimeLosesItsPlace) {
    LongWait at;
    at.advance(place_kept);
    EXPECT_EQ(at.service.counts().waiters, 1U);
    at.ask(with_id(wait_for("first"), "r1"), "again: ");
    at.release();
    EXPECT_THAT(at.take_notes(), ElementsAre("second: granted second"));
}

// The process stood still until long after the place was to be given up, and the lock came free.
TEST(LongWait, IsOverBeforeAnythingThatWasDueLater) {
    LongWait at;
    at.executor.settle();
    at.events.clear();
    at.advance(25h);
    EXPECT_THAT(at.take_notes(), ElementsAre("second: granted second"));
    at.executor.settle();
    EXPECT_THAT(at.events, ElementsAre("wait_timed_out first", "expired holder", "granted second"));
}

TEST(LongWait, FindsTheLeaseThatItWasGrantedMeanwhile) {
    LongWait at;
    at.advance(1s);
    at.release();
    EXPECT_THAT(at.take_notes(), IsEmpty()) << "nobody is there to hear of it";
    at.advance(1s);
    EXPECT_EQ(at.ask(with_id(wait_for("first"), "r1")), "granted first");
    at.advance(place_kept);
    EXPECT_EQ(at.service.counts().leases, 1U) << "its client knows of it: it stays";
    EXPECT_THAT(at.take_notes(), IsEmpty());
}

TEST(LongWait, IsToldOfThatLeaseOnlyWhenItIsCommitted) {
    LongWait at(Durability::full);
    at.release();
    EXPECT_EQ(at.ask(with_id(wait_for("first"), "r1"), "again: "), "later");
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), IsEmpty());
    at.store.finish();
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), ElementsAre("released", "again: granted first"));
}

// A lease that nobody knows of must not keep others waiting until it expires.
TEST(LongWait, GivesTheLeaseBackIfNobodyComesForIt) {
    LongWait at;
    at.advance(1s);
    at.release();
    at.advance(place_kept - 1s);
    EXPECT_THAT(at.take_notes(), ElementsAre("second: granted second"));
    EXPECT_EQ(at.service.counts().leases, 1U);
    at.ask(give_back("second"));
    EXPECT_EQ(at.ask(with_id(take("first"), "r1")), "granted first") << "it may be tried again";
}

TEST(LongWait, ThatIsAskedAgainWithoutAWaitLeavesTheQueue) {
    LongWait at;
    EXPECT_EQ(at.ask(with_id(take("first"), "r1")), "refused held");
    EXPECT_EQ(at.service.counts().waiters, 1U);
    at.release();
    EXPECT_THAT(at.take_notes(), ElementsAre("second: granted second"));
}

TEST(LongWait, EndsWhenItsOwnTimeIsOver) {
    TestService at(Durability::none);
    at.ask(take_for_long("holder"));
    at.ask(with_id(wait_for("first", answer_max + 2s), "r1"), "first: ");
    at.advance(answer_max);
    EXPECT_THAT(at.take_notes(), ElementsAre("first: refused still_waiting"));
    at.ask(with_id(wait_for("first", 2s), "r1"), "again: ");
    at.advance(2s);
    EXPECT_THAT(at.take_notes(), ElementsAre("again: refused timed_out"));
    EXPECT_EQ(at.service.counts().waiters, 0U);
}

// Its time may be over while nobody waits.
TEST(LongWait, LeavesNothingBehindWhenItsTimeEndsWhileItsPlaceIsKept) {
    TestService at(Durability::none);
    at.ask(take_for_long("holder"));
    at.ask(with_id(wait_for("first", answer_max + 2s), "r1"), "first: ");
    at.advance(answer_max);
    at.advance(3s);
    EXPECT_EQ(at.service.counts().waiters, 0U);
    at.ask(give_back("holder"));
    at.advance(place_kept);
    EXPECT_EQ(at.service.counts().leases, 0U);
}

TEST(LongWait, WaitsAsLongAsTheLastRequestSays) {
    TestService at(Durability::none);
    at.ask(take_for_long("holder"));
    at.ask(with_id(wait_for("first", 10s), "r1"), "first: ");
    at.advance(9s);
    at.ask(with_id(wait_for("first", 60s), "r1"), "again: ");
    at.advance(59s);
    EXPECT_THAT(at.take_notes(), ElementsAre("first: refused request_superseded"));
    at.advance(1s);
    EXPECT_THAT(at.take_notes(), ElementsAre("again: refused timed_out"));
}

TEST(LongWait, ThatFitsIntoOneAnswerIsNotInterrupted) {
    TestService at(Durability::none);
    at.ask(take_for_long("holder"));
    at.ask(with_id(wait_for("first", answer_max), "r1"), "first: ");
    at.advance(answer_max);
    EXPECT_THAT(at.take_notes(), ElementsAre("first: refused timed_out"));
    EXPECT_EQ(at.service.counts().waiters, 0U);
}

TEST(LongWait, WithoutAnIdIsNotInterrupted) {
    TestService at(Durability::none);
    at.ask(take_for_long("holder"));
    at.ask(wait_for("first"), "first: ");
    at.advance(3 * answer_max);
    EXPECT_THAT(at.take_notes(), IsEmpty());
    EXPECT_EQ(at.service.counts().waiters, 1U);
}

TEST(LongWait, ThatWasCancelledKeepsNoPlace) {
    TestService at(Durability::none);
    at.ask(take_for_long("holder"));
    at.ask(with_id(wait_for("first"), "r1"), "first: ");
    const PromiseId first = at.promise;
    at.advance(answer_max / 2);
    at.service.abandon(first);
    EXPECT_EQ(at.service.counts().waiters, 0U);
    at.advance(answer_max);
    EXPECT_THAT(at.take_notes(), IsEmpty());
}

// The answer that it should ask again was on its way when the connection broke.
TEST(LongWait, WhoseConnectionBreaksBeforeTheAnswerKeepsNoPlace) {
    TestService at(Durability::none);
    at.ask(take_for_long("holder"));
    at.ask(with_id(wait_for("first"), "r1"), "first: ");
    const PromiseId first = at.promise;
    at.clock.advance(answer_max);
    at.service.wake();
    at.service.abandon(first);
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), IsEmpty());
    EXPECT_EQ(at.service.counts().waiters, 0U);
}

// The same, but the client was faster, over another connection: the place is that one's.
TEST(LongWait, IsNotEndedByAnOlderConnectionThatBreaks) {
    TestService at(Durability::none);
    at.ask(take_for_long("holder"));
    at.ask(with_id(wait_for("first"), "r1"), "first: ");
    const PromiseId first = at.promise;
    at.clock.advance(answer_max);
    at.service.wake();
    at.ask(with_id(wait_for("first"), "r1"), "again: ");
    at.service.abandon(first);
    at.ask(give_back("holder"));
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), ElementsAre("again: granted first"));
}

// The same on another thread, where the answer and the news of the broken connection may cross.
TEST(LongWait, WhoseConnectionBreaksOnAnotherThreadKeepsNoPlace) {
    TestService at(Durability::none);
    ManualExecutor here;
    RemotePort port(here, at.executor, at.service);
    at.ask(take_for_long("holder"));
    ASSERT_EQ(port.submit(with_id(wait_for("first"), "r1")), nullptr);
    const PromiseId promise = port.await(std::make_unique<NotedAnswer>(at.notes, "first: "));
    here.settle();
    at.executor.settle();
    EXPECT_EQ(at.service.counts().waiters, 1U);
    at.advance(answer_max);
    at.executor.settle();  // the answer has left for the other thread
    port.abandon(promise);
    here.settle();
    at.executor.settle();
    EXPECT_EQ(at.service.counts().waiters, 0U);
    EXPECT_THAT(at.take_notes(), IsEmpty());
}

TEST(LongWait, IsForgottenWhenTheStoreFails) {
    LongWait at(Durability::full);
    at.release();
    at.store.fail("disk full");
    at.executor.settle();
    at.advance(place_kept);
    EXPECT_EQ(at.service.counts().waiters, 0U);
}

TEST(StoppingService, TellsEverybodyWhoWaits) {
    TestService at(Durability::none);
    at.ask(take("a"));
    at.ask(wait_for("b"), "b: ");
    core::AcquireRequest shared = wait_for("c");
    shared.mode = core::Mode::shared;
    at.ask(shared, "c: ");
    at.ask(with_id(wait_for("d"), "r1"), "d: ");
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
