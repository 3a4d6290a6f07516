// When the service serves, and what it says when it does not: while it recovers, after a commit
// whose result is unknown, without authority, and when another server has the store.

#include <gmock/gmock.h>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = StoreFailure::Kind;

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

TEST_F(RoleOfAService, ADeposedServiceRefusesEverythingForEver) {
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
    const int recoveries = store.recoveries;
    for (int minute = 0; minute < 3; ++minute) {
        EXPECT_EQ(ask(core::RenewRequest{.token = token}), "failed: another server has the locks");
        EXPECT_EQ(ask(List{}), "failed: another server has the locks");
        advance(1min);
    }
    EXPECT_EQ(store.recoveries, recoveries);
    EXPECT_FALSE(recover());
    EXPECT_EQ(service.role(), Role::deposed);
    EXPECT_EQ(service.submit(Measure{})->figures().role, Role::deposed);
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

TEST_F(LimitedCommits, HaveAllChangesOfARequest) {
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
    ask(take("v", "e"), "e ");
    executor.settle();
    EXPECT_THAT(store.commits, ElementsAre(ElementsAre("granted d v")));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("d granted v"));
    EXPECT_THAT(store.commits.back(), SizeIs(3))
        << "more than the limit, because it is one request";
    finish_commit();
    EXPECT_THAT(take_notes(), SizeIs(1));
    EXPECT_THAT(store.commits.back(), ElementsAre("granted e v"));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("e granted v"));
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

}  // namespace
}  // namespace holdfast::service::testing
