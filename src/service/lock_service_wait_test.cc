// What an answer waits for, so that no crash can make it untrue; and the numbers of leases that are
// told without a commit.

#include <gmock/gmock.h>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

core::AcquireRequest transient(core::AcquireRequest request) {
    request.is_transient = true;
    return request;
}

struct WaitingAnswers : ::testing::Test, TestService {
    WaitingAnswers() : TestService(Durability::full) {}

    void finish_commit() {
        store.finish();
        executor.settle();
    }
    // Everything so far is on disk, and told.
    void settle_all() {
        store.commits_at_once = true;
        executor.settle();
        store.commits_at_once = false;
        take_notes();
    }
    // A lease of thirty seconds that is on disk.
    core::Token hold(std::string_view owner, std::string_view job = "job") {
        core::Token token;
        EXPECT_EQ(service.submit(take(owner, job)), nullptr);
        service.await(answer_by(
            [&token](const Response& response) { token = response.outcome.lease.token; }));
        settle_all();
        return token;
    }
};

// A crash would undo the release, and the client would hold what it was told to be free.
TEST_F(WaitingAnswers, ARepeatedReleaseWaitsForTheCommitOfTheFirst) {
    const core::Token token = hold("laptop1");
    EXPECT_EQ(ask(core::ReleaseRequest{.token = token}, "first: "), "later");
    EXPECT_EQ(ask(core::ReleaseRequest{.token = token}, "same turn: "), "later");
    executor.settle();
    EXPECT_EQ(ask(core::ReleaseRequest{.token = token}, "during: "), "later");
    executor.settle();
    EXPECT_THAT(notes, IsEmpty());
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("first: released", "same turn: refused lease_ended",
                                          "during: refused lease_ended"));
    EXPECT_EQ(ask(core::ReleaseRequest{.token = token}), "refused lease_ended");
}

TEST_F(WaitingAnswers, AReadWaitsForTheCommitOfWhatItShows) {
    ask(take("laptop1"));
    executor.settle();
    std::size_t shown = 0;
    EXPECT_EQ(service.submit(Inspect{.scope = core::Scope::named("job")}), nullptr);
    service.await(
        answer_by([&shown](const Response& response) { shown += response.locks().size(); }));
    EXPECT_EQ(service.submit(List{}), nullptr);
    service.await(
        answer_by([&shown](const Response& response) { shown += response.locks().size(); }));
    EXPECT_EQ(service.submit(ListLeases{}), nullptr);
    service.await(
        answer_by([&shown](const Response& response) { shown += response.leases().size(); }));
    EXPECT_EQ(shown, 0U);
    finish_commit();
    EXPECT_EQ(shown, 3U);
    EXPECT_NE(service.submit(List{}), nullptr) << "now it is on disk";
}

TEST_F(WaitingAnswers, AReadThatShowsNothingWaitsForTheCommitOfTheEnd) {
    hold("laptop1");
    ask(give_back("laptop1"), "released: ");
    executor.settle();
    EXPECT_EQ(ask(Inspect{.scope = core::Scope::named("job")}, "look: "), "later");
    finish_commit();
    EXPECT_THAT(notes, SizeIs(2));
}

TEST_F(WaitingAnswers, ARefusalWaitsForTheCommitOfTheLeaseInTheWay) {
    ask(take("laptop1"), "1: ");
    EXPECT_EQ(ask(take("laptop2"), "2: "), "later");
    executor.settle();
    EXPECT_EQ(ask(take("laptop3"), "3: "), "later");
    finish_commit();
    EXPECT_THAT(take_notes(),
                ElementsAre("1: granted laptop1", "2: refused held", "3: refused held"));
    ask(take("laptop4", "other"));
    executor.settle();
    EXPECT_EQ(ask(take("laptop2")), "refused held") << "by a lease that is on disk";
}

TEST_F(WaitingAnswers, AFailedCommitFailsWhatRestsOnIt) {
    const core::Token token = hold("laptop1");
    ask(core::ReleaseRequest{.token = token}, "first: ");
    executor.settle();
    ask(core::ReleaseRequest{.token = token}, "again: ");
    ask(List{}, "list: ");
    store.fail("disk full");
    executor.settle();
    EXPECT_THAT(notes, ElementsAre("first: failed: disk full", "again: failed: disk full",
                                   "list: failed: disk full"));
}

TEST_F(WaitingAnswers, WhatRestsOnNothingUncommittedLeavesAtOnce) {
    const core::Token token = hold("laptop1");
    ask(take("laptop2", "other"));
    executor.settle();
    ask(take("laptop3", "third"));  // a commit is under way, and there will be another
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), "renewed laptop1");
    EXPECT_EQ(ask(Find{.token = token}), "found laptop1");
    EXPECT_EQ(ask(take("laptop2")), "refused held");
    EXPECT_NE(service.submit(Measure{}), nullptr);
    const Response* const opened = service.submit(OpenSession{.owner = {.name = "tcp"}});
    ASSERT_NE(opened, nullptr);
    const core::SessionId session = opened->session;
    core::AcquireRequest queued = take("laptop4");
    queued.session = session;
    EXPECT_EQ(ask(Enqueue{.request = queued}), "queued");
    EXPECT_NE(service.submit(EndSession{.session = session}), nullptr);
    EXPECT_EQ(ask(Enqueue{.request = queued}), "refused unknown_session");
    EXPECT_EQ(service.submit(EndSession{.session = session}), nullptr) << "it may be a repetition";
    service.await(answer_by([](const Response&) {}));
}

TEST_F(WaitingAnswers, ATimeOutDoesNotWaitForTheCommitUnderWay) {
    ask(take("laptop1"));
    ask(wait_for("laptop2", 5s), "late: ");
    executor.settle();
    advance(5s);
    EXPECT_THAT(notes, ElementsAre("late: refused timed_out"));
}

TEST_F(WaitingAnswers, InMemoryNothingWaits) {
    TestService at(Durability::none);
    at.ask(take("laptop1"));
    EXPECT_EQ(at.ask(take("laptop2")), "refused held");
    EXPECT_EQ(at.ask(give_back("laptop1")), "released");
    EXPECT_EQ(at.ask(give_back("laptop1")), "refused unknown_lease");
    EXPECT_NE(at.service.submit(List{}), nullptr);
}

struct TransientLeases : WaitingAnswers {
    // A transient lease was told before, so that numbers are reserved.
    void reserve() {
        EXPECT_EQ(ask(transient(take("first", "first"))), "later");
        settle_all();
    }
};

TEST_F(TransientLeases, NothingIsWrittenOfThemButThatTheirNumbersAreTaken) {
    EXPECT_EQ(ask(transient(take("laptop1"))), "later");
    executor.settle();
    EXPECT_THAT(store.commits, ElementsAre(ElementsAre("numbers up to 1048577")));
    EXPECT_THAT(notes, IsEmpty()) << "a crash now would let somebody else have the number";
    EXPECT_THAT(events, IsEmpty());
    EXPECT_EQ(ask(transient(take("laptop2", "other"))), "later") << "reserved by the same commit";
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("granted laptop1", "granted laptop2"));
    EXPECT_EQ(ask(give_back("laptop1")), "released");
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(ask(transient(take("laptop1"))), "granted laptop1");
        EXPECT_EQ(ask(give_back("laptop1")), "released");
        executor.settle();
    }
    EXPECT_THAT(store.commits, SizeIs(1));
}

TEST_F(TransientLeases, NewNumbersAreReservedBeforeTheOldOnesAreUsedUp) {
    reserve();
    for (int i = 0; i < 600'000; ++i) {
        ask(transient(take("laptop1")));
        ask(give_back("laptop1"));
    }
    executor.settle();
    EXPECT_THAT(store.commits, SizeIs(1)) << "half of them is left";
    ask(take("laptop2"));  // a commit that is made anyway
    executor.settle();
    EXPECT_THAT(store.commits.back(), ElementsAre("granted job laptop2", "numbers up to 1648578"));
    finish_commit();
    ask(take("laptop2", "other"));
    executor.settle();
    EXPECT_THAT(store.commits.back(), ElementsAre("granted other laptop2"));
}

// Transient leases are told without a commit, so that the store does not know of their numbers.
TEST_F(TransientLeases, TheirNumbersAreNotUsedAgainAfterAFailedCommit) {
    reserve();
    const Response* const told = service.submit(transient(take("laptop1")));
    ASSERT_NE(told, nullptr);
    const core::Fence first = told->outcome.lease.token.fence;
    ask(take("laptop2", "other"));
    executor.settle();
    store.fail("disk full");
    executor.settle();
    advance(1s);
    const core::Token again = hold("laptop3");
    EXPECT_GT(core::as_number(again.fence), core::as_number(first));
}

TEST_F(TransientLeases, WaitForWhatMadeWayForThem) {
    reserve();
    hold("laptop1");
    advance(30s);  // the first lease is over, but that is not on disk
    EXPECT_EQ(ask(transient(take("laptop2"))), "later");
    executor.settle();
    EXPECT_THAT(notes, IsEmpty());
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("granted laptop2"));
    EXPECT_THAT(store.commits.back(), ElementsAre("expired job laptop1"));
    EXPECT_EQ(ask(transient(take("laptop2", "third"))), "granted laptop2") << "nothing is pending";
}

TEST_F(TransientLeases, AWaiterIsToldAfterWhatMadeWayForIt) {
    reserve();
    hold("laptop1");
    core::AcquireRequest waiter = transient(wait_for("laptop2"));
    ask(waiter, "waiter: ");
    ask(give_back("laptop1"), "release: ");
    executor.settle();
    EXPECT_THAT(notes, IsEmpty()) << "a crash would give the lock back to laptop1";
    finish_commit();
    EXPECT_THAT(notes, ElementsAre("waiter: granted laptop2", "release: released"));
}

TEST_F(TransientLeases, ARenewalDoesNotWaitForWhatCameLater) {
    reserve();
    const Response* const told = service.submit(transient(take("laptop1")));
    ASSERT_NE(told, nullptr);
    const core::Token token = told->outcome.lease.token;
    hold("laptop2", "other");
    ask(take("laptop3", "third"));
    executor.settle();
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), "renewed laptop1");
}

}  // namespace
}  // namespace holdfast::service::testing
