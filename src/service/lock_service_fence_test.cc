// The service about fences: tokens that are shown for a scope, and numbers for outside resources.

#include <gmock/gmock.h>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RaiseFence raise(std::uint64_t number, std::string_view resource = "bucket") {
    return {.resource = resource, .fence = core::Fence{number}};
}

struct Fences : ::testing::Test, TestService {
    Fences() : TestService(Durability::full) {}

    void finish_commit() {
        store.finish();
        executor.settle();
    }
};

TEST_F(Fences, AreToldOnceTheyAreOnDisk) {
    EXPECT_EQ(ask(raise(7)), "later");
    executor.settle();
    EXPECT_THAT(store.commits, ElementsAre(ElementsAre("fence bucket 7")));
    EXPECT_THAT(notes, IsEmpty());
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("accepted 7"));
    EXPECT_EQ(ask(raise(7)), "accepted 7") << "what is on disk is told at once";
    EXPECT_EQ(ask(ReadFence{.resource = "bucket"}), "accepted 7");
    executor.settle();
    EXPECT_THAT(store.commits, SizeIs(1));
}

// Another one would be told that 7 is safe, and a crash would let 6 in after it.
TEST_F(Fences, AnEqualNumberWaitsForTheCommitOfTheFirst) {
    ask(raise(7), "first: ");
    EXPECT_EQ(ask(raise(7), "same turn: "), "later");
    executor.settle();
    EXPECT_EQ(ask(raise(7), "during: "), "later");
    EXPECT_EQ(ask(ReadFence{.resource = "bucket"}, "look: "), "later");
    executor.settle();
    EXPECT_THAT(notes, IsEmpty());
    finish_commit();
    EXPECT_THAT(notes, ElementsAre("first: accepted 7", "same turn: accepted 7",
                                   "during: accepted 7", "look: accepted 7"));
    EXPECT_THAT(store.commits, SizeIs(1));
}

// A crash would let the refused number in after all.
TEST_F(Fences, RefusalsWaitForTheCommitTheyRestOn) {
    ask(raise(7), "raise: ");
    EXPECT_EQ(ask(raise(6), "same turn: "), "later");
    executor.settle();
    EXPECT_EQ(ask(raise(6), "during: "), "later");
    EXPECT_EQ(ask(ReadFence{.resource = "other"}, "other: "), "later");
    finish_commit();
    EXPECT_THAT(notes, ElementsAre("raise: accepted 7", "same turn: stale 7", "during: stale 7",
                                   "other: unknown"));
    EXPECT_EQ(ask(raise(6)), "stale 7") << "what is on disk is told at once";
    EXPECT_EQ(ask(ReadFence{.resource = "other"}), "unknown");
    EXPECT_EQ(ask(DropFence{.resource = "other"}), "unknown");
}

TEST_F(Fences, ThatRefuseAreToldOfWithTheAnswer) {
    ask(raise(7));
    ask(raise(6));
    executor.settle();
    EXPECT_THAT(events, IsEmpty());
    finish_commit();
    EXPECT_THAT(events, ElementsAre("fence_refused bucket 6 7"));
    ask(raise(7));
    ask(raise(5));
    EXPECT_THAT(events, ElementsAre("fence_refused bucket 6 7", "fence_refused bucket 5 7"));
    ask(raise(9));
    ask(raise(8));
    executor.settle();
    store.fail("disk full");
    executor.settle();
    EXPECT_THAT(events, SizeIs(2)) << "nobody was told that 8 is stale";
}

TEST_F(Fences, ShareACommitWithLocks) {
    ask(take("laptop1"), "lock: ");
    ask(raise(7), "fence: ");
    executor.settle();
    EXPECT_THAT(store.commits, ElementsAre(ElementsAre("granted job laptop1", "fence bucket 7")));
    ask(raise(8), "next: ");
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("lock: granted laptop1", "fence: accepted 7"));
    EXPECT_THAT(store.commits.back(), ElementsAre("fence bucket 8"));
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("next: accepted 8"));
}

TEST_F(Fences, ADropIsToldOnceItIsOnDisk) {
    store.commits_at_once = true;
    ask(raise(7));
    executor.settle();
    take_notes();
    store.commits_at_once = false;
    EXPECT_EQ(ask(DropFence{.resource = "bucket"}, "drop: "), "later");
    EXPECT_EQ(ask(raise(1), "after it: "), "later");
    executor.settle();
    EXPECT_THAT(store.commits.back(), ElementsAre("fence bucket 1"));
    finish_commit();
    EXPECT_THAT(notes, ElementsAre("drop: accepted 7", "after it: accepted 1"));
}

TEST_F(Fences, AFailedCommitBeginsAnewFromWhatIsOnDisk) {
    store.remembered_fences = {{.resource = "bucket", .highest = 5}};
    ASSERT_TRUE(recover());
    EXPECT_EQ(ask(raise(4)), "stale 5");
    ask(raise(7), "under way: ");
    executor.settle();
    ask(raise(8), "next: ");
    ask(raise(7, "other"), "next: ");
    store.fail("disk full");
    executor.settle();
    EXPECT_THAT(take_notes(), ElementsAre("under way: failed: disk full", "next: failed: disk full",
                                          "next: failed: disk full"));
    EXPECT_EQ(ask(raise(4)), "failed: disk full");
    EXPECT_FALSE(store.is_committing());
    advance(1s);
    EXPECT_EQ(ask(ReadFence{.resource = "bucket"}), "accepted 5");
    EXPECT_EQ(ask(ReadFence{.resource = "other"}), "unknown");
    EXPECT_EQ(ask(raise(6), "again: "), "later");
    executor.settle();
    finish_commit();
    EXPECT_THAT(take_notes(), ElementsAre("again: accepted 6"));
}

TEST_F(Fences, EventsOfLocksWaitForTheFencesBeforeThem) {
    const core::SessionId session = service.submit(OpenSession{.owner = {.name = "tcp"}})->session;
    executor.settle();
    EXPECT_THAT(events, ElementsAre("session_opened tcp"));
    ask(raise(7));
    executor.settle();
    ASSERT_NE(service.submit(EndSession{.session = session}), nullptr);
    executor.settle();
    EXPECT_THAT(events, SizeIs(1));
    finish_commit();
    EXPECT_THAT(events, ElementsAre("session_opened tcp", "session_ended tcp"));
}

TEST(FencesInMemory, AreToldAtOnce) {
    TestService at(Durability::none);
    EXPECT_EQ(at.ask(raise(7)), "accepted 7");
    EXPECT_EQ(at.ask(raise(6)), "stale 7");
    EXPECT_EQ(at.ask(DropFence{.resource = "bucket"}), "accepted 7");
    EXPECT_EQ(at.ask(ReadFence{.resource = "bucket"}), "unknown");
    at.executor.settle();
    EXPECT_THAT(at.store.commits, IsEmpty());
}

struct TokenCheck : ::testing::Test, TestService {
    TokenCheck() : TestService(Durability::none) {}

    core::Token hold(const core::Scope& scope) {
        core::AcquireRequest request = take("laptop1");
        request.scope = scope;
        return service.submit(request)->outcome.lease.token;
    }
};

TEST_F(TokenCheck, AsksWhetherTheLeaseCoversTheScope) {
    using core::Scope;
    const core::Token token = hold(Scope::of_range(7, {0, 4096}));
    const auto check = [&](const Scope& scope) {
        return ask(CheckToken{.token = token, .scope = scope});
    };
    EXPECT_EQ(check(Scope::of_range(7, {0, 4096})), "found laptop1");
    EXPECT_EQ(check(Scope::of_range(7, {100, 200})), "found laptop1");
    EXPECT_EQ(check(Scope::of_range(7, {4000, 4097})), "refused scope_mismatch");
    EXPECT_EQ(check(Scope::of_range(8, {0, 1})), "refused scope_mismatch");
    EXPECT_EQ(check(Scope::of_inode(7)), "refused scope_mismatch");
    EXPECT_EQ(check(Scope::named("7")), "refused scope_mismatch");
    const Response* const response =
        service.submit(CheckToken{.token = token, .scope = Scope::of_inode(7)});
    EXPECT_EQ(response->outcome.lease.scope, Scope::of_range(7, {0, 4096}));
}

TEST_F(TokenCheck, RefusesWhatIsOverOrWasNeverGiven) {
    const core::Scope scope = core::Scope::of_inode(7);
    const core::Token token = hold(scope);
    core::Token guess = token;
    guess.secret = core::Secret{99};
    EXPECT_EQ(ask(CheckToken{.token = guess, .scope = scope}), "refused unknown_lease");
    advance(30s);
    EXPECT_EQ(ask(CheckToken{.token = token, .scope = scope}), "refused lease_ended");
}

TEST_F(TokenCheck, IsCountedByItsResult) {
    const core::Token token = hold(core::Scope::of_inode(7));
    ask(CheckToken{.token = token, .scope = core::Scope::of_inode(7)});
    ask(CheckToken{.token = token, .scope = core::Scope::of_inode(8)});
    ask(CheckToken{.token = token, .scope = core::Scope::of_inode(9)});
    ask(CheckToken{.scope = core::Scope::of_inode(9)});
    advance(30s);
    ask(CheckToken{.token = token, .scope = core::Scope::of_inode(7)});
    ask(raise(7));
    ask(raise(6));
    ask(raise(5));
    const auto figures = service.submit(Measure{})->details->figures;
    const FenceFigures& checks = figures->fence_checks;
    EXPECT_EQ(checks.tokens_accepted, 1U);
    EXPECT_EQ(checks.tokens_mismatched, 2U);
    EXPECT_EQ(checks.tokens_unknown, 1U);
    EXPECT_EQ(checks.tokens_expired, 1U);
    EXPECT_EQ(checks.numbers_accepted, 1U);
    EXPECT_EQ(checks.numbers_stale, 2U);
    EXPECT_EQ(figures->fences, 1U);
}

// Nobody may write under a lease that a crash could still undo.
TEST(TokenCheckOnDisk, WaitsForTheCommitOfItsLease) {
    TestService at(Durability::full);
    at.ask(take("laptop1"));
    at.executor.settle();
    const core::Token token{.fence = core::Fence{1}, .secret = core::Secret{1}};
    EXPECT_EQ(at.ask(CheckToken{.token = token, .scope = core::Scope::named("job")}, "check: "),
              "later");
    at.store.finish();
    at.executor.settle();
    EXPECT_THAT(at.notes, ElementsAre("granted laptop1", "check: found laptop1"));
}

TEST(LeaseList, ShowsLiveLeases) {
    TestService at(Durability::none);
    at.ask(take("laptop1", "a"));
    at.ask(take("laptop2", "b"));
    at.advance(29s);
    at.ask(take("laptop1", "c"));
    at.clock.advance(1s);
    const Response* const response = at.service.submit(ListLeases{});
    ASSERT_THAT(response->leases(), SizeIs(1));
    EXPECT_EQ(response->leases()[0].scope.name, "c");
}

}  // namespace
}  // namespace holdfast::service::testing
