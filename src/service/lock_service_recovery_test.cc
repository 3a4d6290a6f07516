// The service and what its store remembers: at the start, and after a failed commit.

#include <gmock/gmock.h>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = StoreFailure::Kind;

struct RecoveredService : ::testing::Test, TestService {
    RecoveredService() : TestService(Durability::full) {}

    // The store has a thirty-second lease of laptop1 on `job`, with the number 41.
    void remember() {
        core::RestoreRequest lease{
            {.scope = core::Scope::named("job"), .owner = {.name = "laptop1"}, .ttl = 30s}};
        lease.token = token;
        lease.remaining = 30s;
        store.remembered = {lease};
        store.next_fence = 50;
    }

    const core::Token token{.fence = core::Fence{41}, .secret = core::Secret{7}};
};

TEST_F(RecoveredService, HoldsWhatTheStoreRemembers) {
    remember();
    ASSERT_TRUE(recover());
    EXPECT_EQ(ask(take("laptop2")), "refused held");
    EXPECT_EQ(ask(Find{.token = token}), "found laptop1");
    advance(30s);
    EXPECT_EQ(ask(take("laptop2")), "later") << "its full TTL is over";
}

// Nobody can renew while the store is read, so that this costs nobody any of its time.
TEST_F(RecoveredService, LeasesBeginTheirTimeWhenAllOfTheStoreIsRead) {
    remember();
    store.remembered.front().ttl = store.remembered.front().remaining = 5s;
    core::RestoreRequest second = store.remembered.front();
    second.scope = core::Scope::named("second");
    second.token.fence = core::Fence{42};
    second.grace = 5s;
    second.is_in_grace = true;
    store.remembered.push_back(second);
    store.on_read = [this] { clock.advance(10s); };
    ASSERT_TRUE(recover());
    advance(5s - 1us);
    EXPECT_EQ(ask(Find{.token = token}), "found laptop1");
    EXPECT_EQ(ask(take("laptop2", "second")), "refused in_grace");
    advance(1us);
    EXPECT_EQ(service.counts().leases, 0U);
    EXPECT_EQ(ask(take("laptop2", "second")), "later") << "granted, once that is on disk";
}

TEST_F(RecoveredService, NeverGivesOutAnOldNumber) {
    remember();
    ASSERT_TRUE(recover());
    ASSERT_EQ(service.submit(take("laptop2", "other")), nullptr);
    core::Fence fence{};
    service.await(std::make_unique<NotedAnswer>(
        notes, "", [&](const Response& r) { fence = r.outcome.lease.token.fence; }));
    executor.settle();
    store.finish();
    executor.settle();
    EXPECT_EQ(fence, core::Fence{50});
}

TEST_F(RecoveredService, WritesTheFirstRenewalAndNoOther) {
    remember();
    ASSERT_TRUE(recover());
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), "later");
    executor.settle();
    store.finish();
    executor.settle();
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), "renewed laptop1");
    executor.settle();
    EXPECT_THAT(store.commits, ElementsAre(ElementsAre("renewed job laptop1")));
}

TEST_F(RecoveredService, DoesNotSpeakOfALeaseThatACrashCouldUndo) {
    core::AcquireRequest again = take("laptop1");
    again.renew_own = true;
    EXPECT_EQ(ask(again, "granted: "), "later");
    EXPECT_EQ(ask(again, "before the commit: "), "later") << "a renewal of what is not on disk";
    executor.settle();
    EXPECT_EQ(ask(again, "during it: "), "later");
    EXPECT_THAT(notes, IsEmpty());
    store.finish();
    executor.settle();
    EXPECT_THAT(notes, ElementsAre("granted: granted laptop1", "before the commit: renewed laptop1",
                                   "during it: renewed laptop1"));
    EXPECT_EQ(ask(again), "renewed laptop1") << "now it is on disk";
}

TEST_F(RecoveredService, BeginsAnewFromTheStoreAfterAFailedCommit) {
    remember();
    ASSERT_TRUE(recover());
    ask(take("laptop2", "other"));
    executor.settle();
    store.fail("disk full");
    store.cannot_recover = "disk full";
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("failed: disk full"));
    EXPECT_EQ(executor.wake_delay, core::Duration{1s});
    advance(1s);
    EXPECT_EQ(ask(take("laptop3", "other")), "failed: disk full");

    store.cannot_recover.clear();
    advance(1s);
    EXPECT_EQ(ask(take("laptop3")), "refused held") << "what was on disk is held";
    EXPECT_EQ(ask(take("laptop3", "other")), "later") << "what was not is free";
    EXPECT_EQ(store.recoveries, 4);
}

// The answer to a renewal was on its way to another thread when the store failed. Its holder has
// heard of the lease long ago.
TEST_F(RecoveredService, KeepsALeaseOfWhichAnAnswerFromBeforeIsGivenUp) {
    remember();
    ASSERT_TRUE(recover());
    service.give_up(token, LockService::Naming::once);
    EXPECT_EQ(service.counts().leases, 1U);
}

TEST_F(RecoveredService, SaysWhyItCannotBegin) {
    store.cannot_recover = "it is damaged";
    const auto recovered = recover();
    ASSERT_FALSE(recovered);
    EXPECT_EQ(recovered.error().message, "it is damaged");
}

// A connection that outlives a failure of the store must not speak for somebody else's session.
TEST(Recovery, DoesNotUseTheNumbersOfSessionsAgain) {
    TestService at(Durability::full);
    const core::SessionId old = at.service.submit(OpenSession{})->session;
    at.ask(take("laptop1"));
    at.executor.settle();
    at.store.fail("disk full");
    at.executor.settle();
    at.advance(1s);
    const core::SessionId fresh = at.service.submit(OpenSession{})->session;
    ASSERT_TRUE(fresh);
    EXPECT_NE(fresh.serial, old.serial);
    const Response* const ended = at.service.submit(EndSession{.session = old});
    EXPECT_EQ(ended->count, 0U);
    EXPECT_EQ(at.service.counts().sessions, 1U);
}

constexpr const char* recovering = "failed: the server is recovering its locks";
constexpr const char* unconfirmed =
    "unknown: the server cannot be sure that no other server has taken over its locks";

struct RoleOfAService : ::testing::Test, TestService {
    RoleOfAService() : TestService(Durability::full) {}

    // A lease of laptop1 on `job` that is on disk.
    core::Token hold() {
        core::Token token;
        store.commits_at_once = true;
        EXPECT_EQ(service.submit(take("laptop1")), nullptr);
        service.await(answer_by(
            [&token](const Response& response) { token = response.outcome.lease.token; }));
        executor.settle();
        store.commits_at_once = false;
        return token;
    }
    void remember(core::Token token) {
        core::RestoreRequest lease;
        lease.scope = core::Scope::named("job");
        lease.owner = {.name = "laptop1"};
        lease.token = token;
        lease.ttl = lease.remaining = 30s;
        store.remembered = {lease};
        store.next_fence = core::as_number(token.fence) + 1;
    }
};

TEST(RoleOfANewService, IsToRecover) {
    ManualClock clock{test_epoch};
    TestStore store(false);
    ManualExecutor executor;
    store.recovers_late = true;
    LockService service({}, {.clock = clock,
                             .store = store,
                             .executor = executor,
                             .random = [] { return 1U; },
                             .on_changes = {}});
    EXPECT_EQ(service.role(), Role::recovering);
    bool is_done = false;
    service.recover([&](const StoreResult<Recovered>& result) { is_done = result.has_value(); });
    EXPECT_EQ(to_note(*service.submit(take("laptop1"))), recovering);
    store.finish_recovery();
    EXPECT_FALSE(is_done) << "it is told on the executor's thread";
    executor.settle();
    EXPECT_TRUE(is_done);
    EXPECT_EQ(service.role(), Role::serving);
    EXPECT_EQ(service.submit(take("laptop1")), nullptr);
}

TEST_F(RoleOfAService, AnUnknownCommitIsSuccessToNobody) {
    store.recovers_late = true;
    ask(take("laptop1", "a"), "1: ");
    executor.settle();
    ask(take("laptop2", "b"), "2: ");  // would have been in the next commit
    executor.settle();
    store.fail("no answer", Kind::unknown);
    executor.settle();
    EXPECT_THAT(notes, IsEmpty()) << "nothing is said before the store was read";
    EXPECT_EQ(service.role(), Role::recovering);
    EXPECT_EQ(ask(take("laptop3", "c")), recovering);
    EXPECT_EQ(ask(Inspect{.scope = core::Scope::named("a")}), recovering);

    // It had been written.
    core::RestoreRequest lease;
    lease.scope = core::Scope::named("a");
    lease.owner = {.name = "laptop1"};
    lease.token.fence = core::Fence{1};
    lease.ttl = lease.remaining = 30s;
    store.remembered = {lease};
    store.next_fence = 2;
    store.finish_recovery();
    executor.settle();
    EXPECT_THAT(notes, ElementsAre("1: unknown: no answer", "2: failed: no answer"));
    EXPECT_EQ(service.role(), Role::serving);
    EXPECT_EQ(ask(take("laptop3", "a")), "refused held");
    EXPECT_EQ(ask(take("laptop3", "b")), "later") << "what was not handed over is free";
    EXPECT_THAT(events, IsEmpty()) << "observers are told of no success, either";
}

// The store had written the grants, but the clients were told that this is unknown.
TEST_F(RoleOfAService, ReleasesTheLeasesOfAnUnknownCommit) {
    const core::Token before = hold();
    remember(before);
    core::AcquireRequest endless = take("laptop2", "endless");
    endless.ttl = core::endless;
    ask(endless, "1: ");
    ask(with_id(take("laptop3", "repeated"), "r1"), "2: ");
    core::AcquireRequest again = take("laptop1");
    again.renew_own = true;
    again.ttl = 60s;
    ask(again, "3: ");
    executor.settle();
    for (const auto& [number, name] : {std::pair{2U, "endless"}, {3U, "repeated"}}) {
        core::RestoreRequest written;
        written.scope = core::Scope::named(name);
        written.owner = {.name = number == 2 ? "laptop2" : "laptop3"};
        written.token = {.fence = core::Fence{number}, .secret = core::Secret{number}};
        written.ttl = written.remaining = number == 2 ? core::endless : core::Duration{30s};
        written.notes.request_id = number == 2 ? "" : "r1";
        store.remembered.push_back(written);
        store.next_fence = number + 1;
    }
    store.cannot_recover = "no answer";
    store.fail("no answer", Kind::unknown);
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("1: unknown: no answer", "2: unknown: no answer",
                                          "3: unknown: no answer"));
    store.cannot_recover.clear();
    advance(1s);
    ASSERT_EQ(service.role(), Role::serving);
    EXPECT_EQ(ask(take("laptop4", "job")), "refused held") << "its client knows it from before";
    EXPECT_EQ(ask(take("laptop4", "repeated")), "refused held") << "its client may ask again";
    EXPECT_EQ(ask(take("laptop4", "endless")), "later") << "it is free";
}

TEST_F(RoleOfAService, AfterAnUnknownCommitARecoveryThatFailsIsTriedAgain) {
    ask(take("laptop1"));
    executor.settle();
    store.cannot_recover = "no answer";
    store.fail("no answer", Kind::unknown);
    executor.settle();
    EXPECT_THAT(notes, ElementsAre("unknown: no answer"));
    EXPECT_EQ(service.role(), Role::failed);
    store.cannot_recover.clear();
    advance(1s);
    EXPECT_EQ(service.role(), Role::serving);
}

TEST_F(RoleOfAService, ReadsTheStoreOnceASecondIfCommitsStayUnknown) {
    ask(take("laptop1"));
    executor.settle();
    store.fail("no answer", Kind::unknown);
    executor.settle();
    EXPECT_EQ(service.role(), Role::serving);
    take_notes();
    ask(take("laptop1"));
    executor.settle();
    store.fail("no answer", Kind::unknown);
    executor.settle();
    EXPECT_EQ(service.role(), Role::failed);
    EXPECT_EQ(ask(take("laptop2")), "failed: no answer");
    EXPECT_THAT(notes, IsEmpty()) << "nothing is said before the store was read";
    advance(1s);
    EXPECT_EQ(service.role(), Role::serving);
    EXPECT_THAT(notes, ElementsAre("unknown: no answer"));
}

TEST_F(RoleOfAService, ADeposedServiceTellsEverybodyAndDropsItsTable) {
    const core::Token token = hold();
    ask(wait_for("laptop2"), "waiter: ");
    ask(take("laptop3", "other"), "other: ");
    executor.settle();
    take_notes();
    store.fail("another server has the locks", Kind::deposed);
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("other: unknown: another server has the locks",
                                          "waiter: failed: another server has the locks"));
    EXPECT_EQ(service.role(), Role::deposed);
    EXPECT_EQ(service.counts().leases, 0U);
    EXPECT_EQ(service.counts().waiters, 0U);
    const int recoveries = store.recoveries;
    for (int minute = 0; minute < 3; ++minute) {
        EXPECT_EQ(ask(core::RenewRequest{.token = token}), "failed: another server has the locks");
        EXPECT_EQ(ask(List{}), "failed: another server has the locks");
        advance(1min);
    }
    EXPECT_EQ(store.recoveries, recoveries) << "its owner decides";
    EXPECT_EQ(service.submit(Measure{})->figures().role, Role::deposed);
}

TEST_F(RoleOfAService, ADeposedServiceMayServeAgain) {
    hold();
    ask(wait_for("laptop2"), "waiter: ");
    executor.settle();
    take_notes();
    store.lose("node b leads");
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("waiter: failed: node b leads"));
    EXPECT_THAT(deposed, ElementsAre("node b leads"));
    store.recovers_late = true;
    store.why_it_waits = "node b leads, still";
    service.recover([](const StoreResult<Recovered>&) {});
    EXPECT_EQ(service.role(), Role::recovering);
    EXPECT_EQ(ask(take("laptop3")), "failed: node b leads, still");
    store.next_fence = 1000;
    store.finish_recovery();
    executor.settle();
    EXPECT_EQ(service.role(), Role::serving);
    EXPECT_EQ(ask(take("laptop3")), "later");
    executor.settle();
    store.finish();
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("granted laptop3")) << "the lock was not remembered";
}

// The store tells that it is lost, and before the service has heard of it a commit is begun.
TEST_F(RoleOfAService, IsDeposedOnceByALossAndAFailedCommit) {
    hold();
    store.lose("node b leads");
    ask(take("laptop2", "other"));
    executor.end_turn();
    ASSERT_TRUE(store.is_committing());
    store.fail("node b leads", Kind::deposed);
    executor.settle();
    EXPECT_THAT(deposed, ElementsAre("node b leads"));
    EXPECT_THAT(take_notes(), ElementsAre("unknown: node b leads"));
}

// The service hears of the loss before it hears that the last commit was done.
TEST_F(RoleOfAService, IsDeposedAfterACommitIfTheStoreWasLostMeanwhile) {
    hold();
    ask(wait_for("laptop2"), "waiter: ");
    ask(take("laptop3", "other"));
    executor.end_turn();
    ASSERT_TRUE(store.is_committing());
    store.lose("node b leads");
    store.finish();
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("granted laptop3", "waiter: failed: node b leads"));
    EXPECT_THAT(deposed, ElementsAre("node b leads"));
}

TEST_F(RoleOfAService, GrantsNothingNewWhileTheStoreIsFull) {
    const core::Token token = hold();
    ask(wait_for("laptop2"), "waiter: ");
    store.set_refuses_growth(true);
    store.why_full = "etcd is full";
    EXPECT_EQ(ask(take("laptop3", "other")), "failed: etcd is full");
    EXPECT_EQ(ask(RaiseFence{.resource = "printer", .fence = core::Fence{7}}),
              "failed: etcd is full");
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), "renewed laptop1");
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("waiter: failed: etcd is full"));
    ask(core::ReleaseRequest{.token = token});
    executor.settle();
    store.finish();
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("released"));
    store.set_refuses_growth(false);
    EXPECT_EQ(ask(take("laptop3", "other")), "later");
}

TEST_F(RoleOfAService, ARecoveryMayFindThatTheServerIsDeposed) {
    ask(take("laptop1"));
    executor.settle();
    store.cannot_recover = "another server has the locks";
    store.recovery_failure = Kind::deposed;
    store.fail("no answer", Kind::unknown);
    executor.settle();
    EXPECT_EQ(service.role(), Role::deposed);
    EXPECT_THAT(notes, ElementsAre("unknown: another server has the locks"));
    EXPECT_THAT(deposed, ElementsAre("another server has the locks")) << "its owner goes on";
    EXPECT_EQ(service.counts().leases, 0U);
    advance(1min);
    EXPECT_THAT(deposed, SizeIs(1));
}

// The owner began it, as at the start.
TEST_F(RoleOfAService, ARecoveryOfTheOwnerMayFindThatTheServerIsDeposed) {
    hold();
    store.lose("node b leads");
    executor.settle();
    store.recovers_late = true;
    service.recover([](const StoreResult<Recovered>&) {});
    store.cannot_recover = "node c leads";
    store.recovery_failure = Kind::deposed;
    store.finish_recovery();
    executor.settle();
    EXPECT_EQ(service.role(), Role::deposed);
    EXPECT_THAT(deposed, ElementsAre("node b leads", "node c leads"));
}

// A moment later the service would have recovered by itself.
TEST_F(RoleOfAService, IsDeposedByALossAfterAFailedCommit) {
    hold();
    ask(take("laptop2", "other"));
    executor.settle();
    store.fail("etcd is full");
    executor.settle();
    ASSERT_EQ(service.role(), Role::failed);
    const int recoveries = store.recoveries;
    store.lose("node b leads");
    executor.settle();
    EXPECT_EQ(service.role(), Role::deposed);
    EXPECT_THAT(deposed, ElementsAre("node b leads"));
    EXPECT_EQ(service.counts().leases, 0U);
    advance(1min);
    EXPECT_EQ(store.recoveries, recoveries) << "its owner decides";
}

// Whoever waits for the end of an unknown commit is told at once.
TEST_F(RoleOfAService, ALossAfterAnUnknownCommitTellsWhoeverWaits) {
    ask(take("laptop1"));
    executor.settle();
    store.fail("no answer", Kind::unknown);
    executor.settle();
    take_notes();
    ask(take("laptop1"));
    executor.settle();
    store.fail("no answer", Kind::unknown);
    executor.settle();
    ASSERT_EQ(service.role(), Role::failed);
    EXPECT_THAT(notes, IsEmpty()) << "nothing is said before the store was read";
    store.lose("node b leads");
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("unknown: node b leads"));
    EXPECT_THAT(deposed, ElementsAre("node b leads"));
}

TEST_F(RoleOfAService, AnswersNothingFromMemoryWithoutAuthority) {
    const core::Token token = hold();
    store.set_authority_deadline(clock.now() + 3s);
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), "renewed laptop1");
    clock.advance(3s);
    EXPECT_EQ(service.role(), Role::unconfirmed);
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), unconfirmed);
    EXPECT_EQ(ask(Inspect{.scope = core::Scope::named("job")}), unconfirmed);
    EXPECT_EQ(ask(take("laptop2")), unconfirmed);
    EXPECT_EQ(service.submit(Measure{})->figures().role, Role::unconfirmed);
    store.set_authority_deadline(clock.now() + 3s);
    EXPECT_EQ(ask(core::RenewRequest{.token = token}), "renewed laptop1");
    EXPECT_EQ(service.role(), Role::serving);
}

// The wait is over in time, but the answer would leave too late.
TEST_F(RoleOfAService, AnAnswerThatWaitedForItsTurnNeedsAuthorityWhenItLeaves) {
    hold();
    ask(wait_for("laptop2", 5s), "waiter: ");
    store.set_authority_deadline(clock.now() + 5s);
    advance(5s);
    EXPECT_THAT(notes, ElementsAre(std::string("waiter: ") + unconfirmed));
}

TEST_F(RoleOfAService, ACommitThatSucceedsIsAnsweredWhateverTheDeadline) {
    store.set_authority_deadline(clock.now() + 3s);
    ask(take("laptop1"));
    executor.settle();
    clock.advance(10s);
    store.finish();
    executor.settle();
    EXPECT_THAT(notes, ElementsAre("granted laptop1"));
}

}  // namespace
}  // namespace holdfast::service::testing
