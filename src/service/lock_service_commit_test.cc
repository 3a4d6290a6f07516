// The service on a durable store: what waits for a commit, what does not, what a failed one does,
// and how large a commit may be.

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

struct DurableService : ::testing::Test, TestService {
    DurableService() : TestService(Durability::full) {}

    // Lets the commit under way succeed or fail, and the service hear of it.
    void finish_commit() {
        store.finish();
        executor.settle();
    }
    void fail_commit(std::string message) {
        store.fail(std::move(message));
        executor.settle();
    }
};

TEST_F(DurableService, HoldsAnAnswerUntilItsCommit) {
    EXPECT_EQ(ask(take("laptop1")), "later");
    EXPECT_THAT(store.commits, IsEmpty()) << "the turn may bring more";
    executor.settle();
    EXPECT_THAT(store.commits, ElementsAre(ElementsAre("granted job laptop1")));
    EXPECT_THAT(notes, IsEmpty());
    finish_commit();
    EXPECT_THAT(notes, ElementsAre("granted laptop1"));
}

TEST_F(DurableService, AStoreMayCommitBeforeItReturns) {
    store.commits_at_once = true;
    EXPECT_EQ(ask(take("laptop1")), "later");
    executor.settle();
    EXPECT_THAT(notes, ElementsAre("granted laptop1"));
}

TEST_F(DurableService, OneTurnIsOneCommit) {
    ask(take("laptop1", "a"));
    ask(take("laptop2", "b"));
    ask(give_back("laptop1", "a"));
    executor.settle();
    EXPECT_THAT(store.commits, ElementsAre(ElementsAre("granted a laptop1", "granted b laptop2",
                                                       "released a laptop1")));
    finish_commit();
    EXPECT_THAT(notes, ElementsAre("granted laptop1", "granted laptop2", "released"));
}

// The answers that leave together are told in one response after the other: nothing of the one
// before is left in the next.
TEST_F(DurableService, AnAnswerToAReleaseNamesNoLease) {
    const auto tell = [this](const Response& response) {
        const core::LeaseView& lease = response.outcome.lease;
        notes.push_back(to_note(response) + " '" + std::string(lease.scope.name) + "'");
    };
    for (const Request& request :
         {Request(take("laptop1", "a")), Request(give_back("laptop1", "a")),
          Request(take("laptop2", "b"))}) {
        ASSERT_EQ(service.submit(request), nullptr);
        service.await(answer_by(tell));
    }
    executor.settle();
    finish_commit();
    EXPECT_THAT(notes, ElementsAre("granted laptop1 'a'", "released ''", "granted laptop2 'b'"));
}

TEST_F(DurableService, WhatArrivesDuringACommitSharesTheNext) {
    ask(take("laptop1", "a"));
    executor.settle();
    for (const char* job : {"b", "c", "d"}) {
        ask(take("laptop2", job));
        executor.settle();  // each in a turn of its own
    }
    EXPECT_THAT(store.commits, SizeIs(1)) << "one at a time";
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("granted laptop1"));
    ASSERT_THAT(store.commits, SizeIs(2));
    EXPECT_THAT(store.commits[1],
                ElementsAre("granted b laptop2", "granted c laptop2", "granted d laptop2"));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("granted laptop2", "granted laptop2", "granted laptop2"));
    EXPECT_FALSE(store.is_committing());
}

TEST_F(DurableService, AWaitersGrantWaitsForTheCommitOfTheReleaseBeforeIt) {
    store.commits_at_once = true;
    ask(take("laptop1"));
    executor.settle();
    take_notes();
    store.commits_at_once = false;

    ask(wait_for("laptop2"));
    ask(give_back("laptop1"));
    executor.settle();
    EXPECT_THAT(notes, IsEmpty());
    EXPECT_THAT(store.commits.back(), ElementsAre("released job laptop1", "granted job laptop2"));
    finish_commit();
    EXPECT_THAT(notes, UnorderedElementsAre("released", "granted laptop2"));
}

TEST_F(DurableService, AnExpiryIsCommittedAlthoughNobodyAsked) {
    store.commits_at_once = true;
    ask(take("laptop1"));
    executor.settle();
    advance(30s);
    EXPECT_THAT(store.commits.back(), ElementsAre("expired job laptop1"));
}

// A renewal of a large set has a quarter of a megabyte, so the number of events is not all.
TEST_F(DurableService, PendingRenewalsAreThinnedOutByTheirBytes) {
    std::vector<std::string> names;
    std::vector<core::SetMember> members;
    for (int i = 0; i < 64; ++i) names.push_back(std::string(4000, 'n') + std::to_string(i));
    for (const std::string& name : names) members.push_back({.scope = core::Scope::named(name)});
    core::AcquireRequest set = take("laptop1", names.front());
    set.members = members;
    set.renew_own = true;
    store.commits_at_once = true;
    ask(set);
    executor.settle();
    store.commits_at_once = false;
    ask(take("slow", "slow"));  // a commit that takes long
    executor.settle();
    ASSERT_TRUE(store.is_committing());
    events.clear();
    constexpr int renewals = 1000;
    for (int i = 0; i < renewals; ++i) {
        ask(set);
        executor.settle();
    }
    store.commits_at_once = true;
    finish_commit();
    const auto told = std::count(events.begin(), events.end(), "renewed laptop1");
    EXPECT_GT(told, 0);
    EXPECT_LT(told, 600) << "more than 128 MiB were pending";
}

TEST_F(DurableService, QueuesAndSessionsAreNotCommitted) {
    ask(take("laptop1"));
    executor.settle();
    finish_commit();
    const core::SessionId session = service.submit(OpenSession{.owner = {.name = "tcp"}})->session;
    ask(wait_for("laptop2", 5s));
    advance(5s);
    ASSERT_NE(service.submit(EndSession{.session = session}), nullptr);
    executor.settle();
    EXPECT_THAT(store.commits, SizeIs(1));
}

// A crash would undo the new terms, and with them the time the second answer speaks of.
TEST_F(DurableService, ARenewalWaitsForTheNewTermsOfTheOneBefore) {
    store.commits_at_once = true;
    core::AcquireRequest sticky = take("laptop1");
    sticky.renew_own = true;
    ask(sticky);
    executor.settle();
    store.commits_at_once = false;
    take_notes();
    sticky.ttl = 60s;
    EXPECT_EQ(ask(sticky, "longer: "), "later");
    EXPECT_EQ(ask(sticky, "in the same turn: "), "later");
    executor.settle();
    EXPECT_EQ(ask(sticky, "during the commit: "), "later");
    EXPECT_THAT(notes, IsEmpty());
    finish_commit();
    EXPECT_THAT(take_notes(),
                ElementsAre("longer: renewed laptop1", "in the same turn: renewed laptop1",
                            "during the commit: renewed laptop1"));
    EXPECT_EQ(ask(sticky), "renewed laptop1");
}

TEST_F(DurableService, AnAnswerMaySubmitAgainAndItsCommitFollows) {
    ASSERT_EQ(service.submit(take("laptop1")), nullptr);
    service.await(std::make_unique<NotedAnswer>(
        notes, "", [&](const Response&) { ask(give_back("laptop1")); }));
    executor.settle();
    finish_commit();
    EXPECT_THAT(store.commits.back(), ElementsAre("released job laptop1"));
    finish_commit();
    EXPECT_THAT(notes, ElementsAre("granted laptop1", "released"));
}

TEST_F(DurableService, TheNextCommitIsUnderWayWhenTheAnswersOfTheLastLeave) {
    ASSERT_EQ(service.submit(take("laptop1", "a")), nullptr);
    service.await(std::make_unique<NotedAnswer>(notes, "", [&](const Response&) {
        notes.emplace_back(store.is_committing() ? "and on" : "idle");
    }));
    executor.settle();
    ask(take("laptop2", "b"));
    executor.settle();
    finish_commit();
    EXPECT_THAT(notes, ElementsAre("granted laptop1", "and on"));
    finish_commit();
    EXPECT_THAT(notes, ElementsAre("granted laptop1", "and on", "granted laptop2"));
}

TEST_F(DurableService, AFailedCommitAnswersNobodyWithSuccess) {
    ask(take("laptop1", "a"), "1: ");
    executor.settle();
    ask(take("laptop2", "b"), "2: ");  // would have been in the next commit
    executor.settle();
    fail_commit("disk full");
    EXPECT_THAT(notes, ElementsAre("1: failed: disk full", "2: failed: disk full"));
    EXPECT_THAT(store.commits, SizeIs(1)) << "nothing is built on what failed";
}

TEST_F(DurableService, RefusesEverythingWhileTheStoreCannotBeReadAgain) {
    store.cannot_recover = "disk full";
    ask(take("laptop1"));
    executor.settle();
    fail_commit("disk full");
    take_notes();
    EXPECT_EQ(ask(take("laptop2", "free")), "failed: disk full");
    EXPECT_EQ(ask(give_back("laptop1")), "failed: disk full");
    EXPECT_EQ(ask(Inspect{.scope = core::Scope::named("job")}), "failed: disk full");
    advance(1h);
    executor.settle();
    EXPECT_THAT(store.commits, SizeIs(1));
    EXPECT_THAT(notes, IsEmpty());
}

TEST_F(DurableService, AFailureWithoutAReasonIsAFailure) {
    ask(take("laptop1"));
    executor.settle();
    fail_commit("");
    EXPECT_THAT(notes, ElementsAre("failed: the store failed"));
    EXPECT_EQ(ask(take("laptop2", "free")), "failed: the store failed");
}

TEST_F(DurableService, AFailedCommitAnswersThoseWhoWaitForALock) {
    store.commits_at_once = true;
    ask(take("laptop1"));
    executor.settle();
    take_notes();
    store.commits_at_once = false;

    ask(wait_for("laptop2"), "waiter: ");
    ask(take("laptop3", "other"), "other: ");
    executor.settle();
    fail_commit("disk full");
    EXPECT_THAT(notes,
                UnorderedElementsAre("waiter: failed: disk full", "other: failed: disk full"));
    service.abandon(promise);  // too late to matter
    advance(1h);
    EXPECT_THAT(notes, SizeIs(2)) << "each is answered once";
}

TEST_F(DurableService, AnAnswerToAFailureMaySubmitAgain) {
    ASSERT_EQ(service.submit(take("laptop1")), nullptr);
    service.await(std::make_unique<NotedAnswer>(
        notes, "", [&](const Response&) { notes.push_back("then " + ask(take("laptop1"))); }));
    executor.settle();
    fail_commit("disk full");
    EXPECT_THAT(notes, ElementsAre("failed: disk full", "then failed: disk full"));
}

TEST_F(DurableService, ObserversHearOfWhatIsOnDiskOnlyAndInOrder) {
    ask(take("laptop1"));
    EXPECT_THAT(events, IsEmpty());
    executor.settle();
    ask(wait_for("laptop2"));  // changes nothing that is kept, but came later
    executor.settle();
    EXPECT_THAT(events, IsEmpty());
    finish_commit();
    EXPECT_THAT(events, ElementsAre("granted laptop1", "queued laptop2"));
    ask(wait_for("laptop3"));
    executor.settle();
    EXPECT_THAT(events, ElementsAre("granted laptop1", "queued laptop2", "queued laptop3"));
}

TEST_F(DurableService, ObserversHearNothingOfWhatNeverHappened) {
    ask(take("laptop1"));
    executor.settle();
    fail_commit("disk full");
    advance(1s);  // it works again
    ask(take("laptop2"));
    executor.settle();
    finish_commit();
    EXPECT_THAT(events, ElementsAre("granted laptop2"));
}

struct LimitedCommits : ::testing::Test, TestService {
    LimitedCommits() : TestService(Durability::full, {.changes_max = 2, .text_bytes_max = 1000}) {}

    void finish_commit() {
        store.finish();
        executor.settle();
    }
};

TEST_F(LimitedCommits, AreSplitBetweenRequests) {
    for (const char* job : {"a", "b", "c", "d", "e"}) ask(take("w", job), std::string(job) + " ");
    executor.settle();
    EXPECT_THAT(store.commits.back(), ElementsAre("granted a w", "granted b w"));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("a granted w", "b granted w"));
    EXPECT_THAT(events, SizeIs(2));
    EXPECT_THAT(store.commits.back(), ElementsAre("granted c w", "granted d w"));
    ask(take("w", "f"), "f ");
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("c granted w", "d granted w"));
    EXPECT_THAT(store.commits.back(), ElementsAre("granted e w", "granted f w"));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("e granted w", "f granted w"));
    EXPECT_THAT(store.numbers, ElementsAre(1, 2, 3));
    EXPECT_FALSE(store.is_committing());
}

// Takes these locks.
class TakeAll final : public Step {
  public:
    explicit TakeAll(std::vector<std::string> jobs) : jobs_(std::move(jobs)) {}

    core::Outcome run(const StepContext& context) override {
        for (const std::string& job : jobs_) {
            context.table.acquire(context.table.now(), take("w", job));
        }
        return {.kind = core::Outcome::Kind::released};
    }
    void keep_texts() override {}

  private:
    const std::vector<std::string> jobs_;
};

TEST_F(LimitedCommits, HaveAllChangesOfAStep) {
    ask(take("v", "d"), "d ");
    ask(RunStep{.step = std::make_shared<TakeAll>(std::vector<std::string>{"a", "b", "c"})},
        "step ");
    ask(take("v", "e"), "e ");
    executor.settle();
    EXPECT_THAT(store.commits, ElementsAre(ElementsAre("granted d v")));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("d granted v"));
    EXPECT_THAT(store.commits.back(), SizeIs(3)) << "more than the limit, because it is one step";
    finish_commit();
    EXPECT_THAT(take_notes(), SizeIs(1));
    EXPECT_THAT(store.commits.back(), ElementsAre("granted e v"));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("e granted v"));
}

// The end of a session may be cut between its leases; it is answered when the last one has ended.
TEST_F(LimitedCommits, AreSplitBetweenTheLeasesOfASession) {
    const core::SessionId session = service.submit(OpenSession{})->session;
    for (const char* job : {"a", "b", "c"}) {
        core::AcquireRequest request = take("w", job);
        request.session = session;
        ask(request);
    }
    store.commits_at_once = true;
    executor.settle();
    store.commits_at_once = false;
    take_notes();
    store.commits.clear();
    ask(take("v", "d"), "d ");
    ask(EndSession{.session = session}, "end ");
    executor.settle();
    EXPECT_THAT(store.commits.back(), ElementsAre("granted d v", "released a w"));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("d granted v"));
    EXPECT_THAT(store.commits.back(), ElementsAre("released b w", "released c w"));
    finish_commit();
    EXPECT_THAT(take_notes(), SizeIs(1));
}

// The same for a forced release: one of the leases is released, the grace of the other one ends.
TEST_F(LimitedCommits, AreSplitBetweenTheLeasesOfAForcedRelease) {
    store.commits_at_once = true;
    core::AcquireRequest request = take("w", "doc");
    request.mode = core::Mode::shared;
    ask(request);
    request.owner.name = "v";
    request.ttl = 1s;
    request.grace = 10s;
    ask(request);
    executor.settle();
    advance(1s);
    executor.settle();
    store.commits_at_once = false;
    store.commits.clear();
    take_notes();
    ask(take("u", "a"), "a ");
    ask(ForceRelease{.scope = core::Scope::named("doc")}, "force ");
    executor.settle();
    EXPECT_THAT(store.commits.back(), ElementsAre("granted a u", "released doc w"));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("a granted u"));
    EXPECT_THAT(store.commits.back(), ElementsAre("grace_ended doc v"));
    finish_commit();
    EXPECT_THAT(take_notes(), SizeIs(1));
}

TEST_F(LimitedCommits, AreSplitBetweenLeasesThatExpireTogether) {
    store.commits_at_once = true;
    for (const char* job : {"a", "b", "c", "d", "e"}) ask(take("w", job));
    executor.settle();
    store.commits_at_once = false;
    store.commits.clear();
    take_notes();
    ask(take("v", "x"), "x ");
    ask(Inspect{.scope = core::Scope::named("a")}, "read ");
    advance(30s);
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("x granted v", "read refused none"));
    std::size_t expired = 0;
    while (store.is_committing()) {
        EXPECT_LE(store.commits.back().size(), 2U);
        expired += store.commits.back().size();
        finish_commit();
    }
    EXPECT_EQ(expired, 5U);
}

TEST_F(LimitedCommits, AreSplitByTheLengthOfTheirTexts) {
    const std::string long_name(600, 'n');
    ask(take("w", long_name), "1 ");
    ask(take("w", std::string(600, 'm')), "2 ");
    executor.settle();
    EXPECT_THAT(store.commits.back(), SizeIs(1));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("1 granted w"));
    EXPECT_THAT(store.commits.back(), SizeIs(1));
}

TEST_F(LimitedCommits, HaveTheFencesThatWereRaisedBeforeTheyWereClosed) {
    const auto raise = [](std::string_view resource, std::uint64_t number) {
        return RaiseFence{.resource = resource, .fence = core::Fence{number}};
    };
    ask(raise("r", 1), "1 ");
    ask(raise("s", 1), "2 ");
    ask(raise("r", 2), "3 ");
    ask(ReadFence{.resource = "s"}, "s ");
    executor.settle();
    EXPECT_THAT(store.commits.back(), ElementsAre("fence r 1", "fence s 1"));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("1 accepted 1", "2 accepted 1", "s accepted 1"));
    EXPECT_THAT(store.commits.back(), ElementsAre("fence r 2"));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("3 accepted 2"));
}

// What is closed and waits for the store is forgotten with the rest.
TEST_F(LimitedCommits, FailTogether) {
    for (const char* job : {"a", "b", "c", "d", "e"}) ask(take("w", job));
    executor.settle();
    store.fail("disk full");
    executor.settle();
    EXPECT_THAT(take_notes(), SizeIs(5));
    advance(1s);
    ask(take("w", "a"));
    executor.settle();
    EXPECT_THAT(store.commits.back(), ElementsAre("granted a w"));
    EXPECT_THAT(events, IsEmpty());
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("granted w"));
    EXPECT_THAT(events, ElementsAre("granted w"));
}

// A store whose commits may be held back for a moment.
struct GatheringService : ::testing::Test, TestService {
    GatheringService() : TestService(Durability::full, {.gather_max = 2ms}) {}

    void finish_commit_after(core::Duration time) {
        clock.advance(time);
        store.finish();
        executor.settle();
    }
    // The grant of laptop1 is committed, which takes this time; that of laptop2 comes meanwhile.
    void commit_one_of_two(core::Duration time) {
        ask(take("laptop1", "a"));
        executor.settle();
        ask(take("laptop2", "b"));
        executor.settle();
        finish_commit_after(time);
    }
};

TEST_F(GatheringService, WaitsForThoseWhoWereJustAnswered) {
    commit_one_of_two(4ms);
    EXPECT_THAT(store.commits, SizeIs(1)) << "laptop1 may come again";
    ask(give_back("laptop1", "a"));
    executor.settle();
    ASSERT_THAT(store.commits, SizeIs(2)) << "there is nobody else";
    EXPECT_THAT(store.commits[1], ElementsAre("granted b laptop2", "released a laptop1"));
}

TEST_F(GatheringService, WaitsForHalfTheTimeOfACommit) {
    commit_one_of_two(2ms);
    advance(999us);
    executor.settle();
    EXPECT_THAT(store.commits, SizeIs(1));
    advance(1us);
    executor.settle();
    EXPECT_THAT(store.commits, SizeIs(2));
}

TEST_F(GatheringService, NeverWaitsLongerThanTheStoreAllows) {
    commit_one_of_two(1s);
    advance(2ms);
    executor.settle();
    EXPECT_THAT(store.commits, SizeIs(2));
}

TEST_F(GatheringService, ASingleClientDoesNotWait) {
    ask(take("laptop1", "a"));
    executor.settle();
    finish_commit_after(4ms);
    ask(give_back("laptop1", "a"));
    executor.settle();
    EXPECT_THAT(store.commits, SizeIs(2));
}

}  // namespace
}  // namespace holdfast::service::testing
