// When nobody is there any more to hear the answer.

#include <gmock/gmock.h>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Abandon, TakesAWaiterOutOfTheQueue) {
    TestService at(Durability::none);
    at.ask(take("laptop1"));
    at.ask(wait_for("laptop2"));
    at.service.abandon(at.promise);
    EXPECT_EQ(at.service.counts().waiters, 0U);
    at.ask(give_back("laptop1"));
    at.executor.settle();
    EXPECT_EQ(at.service.counts().leases, 0U);
    EXPECT_THAT(at.notes, IsEmpty());
}

TEST(Abandon, ReleasesAGrantThatWasNotDeliveredYet) {
    TestService at(Durability::none);
    at.ask(take("laptop1"));
    at.ask(wait_for("laptop2"), "2: ");
    const PromiseId second = at.promise;
    at.ask(wait_for("laptop3"), "3: ");
    at.ask(give_back("laptop1"));  // laptop2 is granted; the turn is not over
    at.service.abandon(second);
    at.executor.settle();
    EXPECT_THAT(at.notes, ElementsAre("3: granted laptop3"));
}

TEST(Abandon, ReleasesAGrantThatIsNotCommittedYet) {
    TestService at(Durability::full);
    at.ask(take("laptop1"));
    at.executor.settle();
    at.service.abandon(at.promise);
    EXPECT_EQ(at.service.counts().leases, 0U);
    at.executor.settle();
    at.store.finish();
    at.executor.settle();
    EXPECT_THAT(at.notes, IsEmpty());
    ASSERT_TRUE(at.store.is_committing()) << "what was granted on disk must be released there";
    EXPECT_THAT(at.store.commits.back(), ElementsAre("released job laptop1"));
}

TEST(Abandon, ReleasesAGrantWhoseTurnHasNotEnded) {
    TestService at(Durability::full);
    at.ask(take("laptop1"));
    at.service.abandon(at.promise);
    at.executor.settle();
    EXPECT_THAT(at.store.commits,
                ElementsAre(ElementsAre("granted job laptop1", "released job laptop1")));
    at.store.finish();
    at.executor.settle();
    EXPECT_THAT(at.notes, IsEmpty());
}

TEST(Abandon, CommitsItsReleaseWithoutWaitingForAnotherRequest) {
    TestService at(Durability::full);
    at.ask(take("laptop1"));
    at.executor.settle();
    at.store.commits_at_once = true;
    at.service.abandon(at.promise);
    at.store.finish();
    at.executor.settle();
    EXPECT_THAT(at.store.commits.back(), ElementsAre("released job laptop1"));
}

TEST(Abandon, WakesInTimeForTheLeaseItMadeRoomFor) {
    TestService at(Durability::full);
    core::AcquireRequest long_lease = take("laptop1");
    long_lease.ttl = 1h;
    at.ask(long_lease);
    const PromiseId first = at.promise;
    const core::SessionId session =
        at.service.submit(OpenSession{.owner = {.name = "tcp"}})->session;
    core::AcquireRequest queued = take("laptop2");
    queued.session = session;
    at.ask(Enqueue{.request = queued});  // nobody is owed an answer when this one is granted
    at.executor.settle();
    EXPECT_EQ(at.executor.wake_delay, 1h);
    at.service.abandon(first);
    at.executor.settle();
    EXPECT_EQ(at.executor.wake_delay, 30s);
}

TEST(Abandon, DoesNothingOnceTheAnswerWasGiven) {
    TestService at(Durability::full);
    at.store.commits_at_once = true;
    at.ask(take("laptop1"));
    at.executor.settle();
    EXPECT_THAT(at.notes, ElementsAre("granted laptop1"));
    at.service.abandon(at.promise);
    at.executor.settle();
    EXPECT_EQ(at.service.counts().leases, 1U);
}

TEST(Abandon, LeavesARenewalAlone) {
    TestService at(Durability::full);
    at.store.commits_at_once = true;
    core::AcquireRequest sticky = take("laptop1");
    sticky.renew_own = true;
    at.ask(sticky);
    at.executor.settle();
    at.ask(sticky);
    at.service.abandon(at.promise);  // the first answer was heard: the lease is its holder's
    at.executor.settle();
    EXPECT_EQ(at.service.counts().leases, 1U);
}

// The timer is late: the lease in the way has ended, but nobody has noticed.
TEST(Abandon, DoesNotLeaveALockToAWaiterWhoseTurnComesInThisMoment) {
    TestService at(Durability::none);
    at.ask(take("laptop1"));
    at.ask(wait_for("laptop2"));
    at.clock.advance(30s);
    at.service.abandon(at.promise);
    at.executor.settle();
    EXPECT_EQ(at.service.counts().leases, 0U);
    EXPECT_EQ(at.service.counts().waiters, 0U);
}

// A client asks, hears nothing, asks again by another connection, and then the first one dies.
TEST(Abandon, LeavesALeaseToItsOwnerWhoAskedAgain) {
    TestService at(Durability::full);
    core::AcquireRequest sticky = take("laptop1");
    sticky.renew_own = true;
    at.ask(sticky, "first: ");
    const PromiseId first = at.promise;
    at.executor.settle();
    at.ask(sticky, "again: ");
    const PromiseId again = at.promise;
    at.service.abandon(first);
    EXPECT_EQ(at.service.counts().leases, 1U);
    at.store.commits_at_once = true;
    at.store.finish();
    at.executor.settle();
    EXPECT_THAT(at.notes, ElementsAre("again: renewed laptop1"));
    at.service.abandon(again);
    EXPECT_EQ(at.service.counts().leases, 1U) << "it was heard";
}

TEST(Abandon, ReleasesAGrantThatNoneOfTwoRequestsHeardOf) {
    TestService at(Durability::full);
    core::AcquireRequest sticky = take("laptop1");
    sticky.renew_own = true;
    at.ask(sticky);
    const PromiseId first = at.promise;
    at.executor.settle();
    at.ask(sticky);
    at.service.abandon(first);
    at.service.abandon(at.promise);
    EXPECT_EQ(at.service.counts().leases, 0U);
}

// The answers of one commit leave one after the other; the first of them gives the second up.
TEST(Abandon, LeavesALeaseToItsOwnerWhoseAnswerIsLeaving) {
    TestService at(Durability::full);
    PromiseId first{};
    ASSERT_EQ(at.service.submit(take("laptop2", "other")), nullptr);
    at.service.await(std::make_unique<NotedAnswer>(
        at.notes, "other: ", [&](const Response&) { at.service.abandon(first); }));
    core::AcquireRequest sticky = take("laptop1");
    sticky.renew_own = true;
    at.ask(sticky, "first: ");
    first = at.promise;
    at.ask(sticky, "again: ");
    at.executor.settle();
    at.store.finish();
    at.executor.settle();
    EXPECT_THAT(at.notes, ElementsAre("other: granted laptop2", "again: renewed laptop1"));
    EXPECT_EQ(at.service.counts().leases, 2U);
}

TEST(Abandon, ReleasesAGrantInWhateverOrderItsAnswersAreGivenUp) {
    TestService at(Durability::full);
    core::AcquireRequest sticky = take("laptop1");
    sticky.renew_own = true;
    std::vector<PromiseId> promises;
    for (int i = 0; i < 3; ++i) {
        at.ask(sticky);
        promises.push_back(at.promise);
    }
    at.service.abandon(promises[2]);
    at.service.abandon(promises[0]);
    EXPECT_EQ(at.service.counts().leases, 1U);
    at.service.abandon(promises[1]);
    EXPECT_EQ(at.service.counts().leases, 0U);
}

// The grant came between the two halves, and was no answer.
TEST(Abandon, ReleasesWhatTheSecondHalfOfARequestWasGiven) {
    TestService at(Durability::full);
    at.ask(take("laptop1"));
    const core::SessionId session = at.service.submit(OpenSession{})->session;
    core::AcquireRequest queued = take("laptop2");
    queued.session = session;
    EXPECT_EQ(at.ask(Enqueue{.request = queued}), "queued");
    at.ask(give_back("laptop1"));
    EXPECT_EQ(at.ask(Wait{.session = session, .scope = queued.scope, .timeout = 5s}), "later");
    EXPECT_EQ(at.service.counts().leases, 1U);
    at.service.abandon(at.promise);
    EXPECT_EQ(at.service.counts().leases, 0U);
}

// A holder whose renewals are lost again and again keeps its lease.
TEST(Abandon, DoesNotReleaseALeaseThatWasHeardOf) {
    TestService at(Durability::full);
    core::AcquireRequest sticky = take("laptop1");
    sticky.renew_own = true;
    at.store.commits_at_once = true;
    at.ask(sticky);
    at.executor.settle();
    at.store.commits_at_once = false;
    for (int i = 1; i <= 20; ++i) {
        sticky.ttl += 1s;  // new terms, which wait for their commit
        EXPECT_EQ(at.ask(sticky), "later");
        at.service.abandon(at.promise);
    }
    EXPECT_EQ(at.service.counts().leases, 1U);
}

// A hundred thousand connections die in the middle of a commit. With a search through all answers
// for each of them this test would take minutes.
TEST(Abandon, OfVeryManyGrantsIsQuick) {
    TestService at(Durability::full);
    std::vector<PromiseId> promises;
    for (int i = 0; i < 100'000; ++i) {
        at.ask(take("laptop", "job" + std::to_string(i)));
        promises.push_back(at.promise);
    }
    at.executor.settle();
    for (const PromiseId promise : promises) at.service.abandon(promise);
    EXPECT_EQ(at.service.counts().leases, 0U);
}

TEST(Abandon, EndsASessionThatNobodyHeardOf) {
    TestService at(Durability::full);
    at.ask(take("laptop1"));
    at.clock.advance(30s);  // opening the session finds the lease expired, and must wait for that
    ASSERT_EQ(at.ask(OpenSession{.owner = {.name = "tcp"}}), "later");
    at.service.abandon(at.promise);
    EXPECT_EQ(at.service.counts().sessions, 0U);
}

TEST(Abandon, MayComeFromAnotherAnswer) {
    TestService at(Durability::none);
    at.ask(take("laptop1"));
    PromiseId third{};
    ASSERT_EQ(at.service.submit(wait_for("laptop2", 5s)), nullptr);
    at.service.await(std::make_unique<NotedAnswer>(
        at.notes, "2: ", [&](const Response&) { at.service.abandon(third); }));
    at.ask(wait_for("laptop3", 5s), "3: ");
    third = at.promise;
    at.advance(5s);
    EXPECT_THAT(at.notes, ElementsAre("2: refused timed_out"));
}

TEST(Abandon, ChangesNothingAfterAFailedCommit) {
    TestService at(Durability::full);
    at.ask(take("laptop1"));
    at.executor.settle();
    at.store.fail("disk full");
    at.service.abandon(at.promise);
    at.executor.settle();
    EXPECT_THAT(at.notes, IsEmpty());
    EXPECT_EQ(at.store.commits.size(), 1U);
}

}  // namespace
}  // namespace holdfast::service::testing
