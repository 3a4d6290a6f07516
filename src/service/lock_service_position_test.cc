// The position of a snapshot: a reader of the feed that begins there hears exactly what the snapshot
// does not show.

#include <gmock/gmock.h>

#include "service/events/event_feed.h"
#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A service whose observer is a feed, as in the server.
struct PositionTest : ::testing::Test {
    // Asks for all locks; notes the position and the names of the locks when the answer comes.
    void look() {
        const auto tell = [this](const Response& response) {
            position = response.position;
            shown.clear();
            for (const core::LockView& lock : response.locks()) {
                shown.push_back(std::string(lock.scope.name) + " " +
                                std::to_string(lock.waiter_count));
            }
        };
        if (const Response* response = service.submit(List{})) return tell(*response);
        service.await(answer_by(tell));
    }
    void ask(const Request& request) {
        if (service.submit(request) == nullptr) service.await(answer_by([](const Response&) {}));
    }
    void finish_commit() {
        store.finish();
        executor.settle();
    }
    // What a reader hears that begins at the position, as `granted a`; `gap` if some are missing.
    Notes hear() {
        Notes heard;
        const auto watch = feed.watch(executor, position, [] {});
        const auto page = watch->read(1000);
        if (page.has_missed_some) heard.emplace_back("gap");
        for (const auto& one : page.events) {
            if (one->act) {
                heard.push_back("act " + std::string(one->act->what));
                continue;
            }
            heard.push_back(one->refused_fence ? "fence_refused"
                                               : std::string(core::to_text(one->event.kind)) + " " +
                                                     std::string(one->event.lease.scope.name));
        }
        return heard;
    }
    core::AcquireRequest waits(std::string_view owner, std::string_view job) {
        core::AcquireRequest request = take(owner, job);
        request.wait = core::wait_forever;
        return request;
    }

    ManualClock clock{WallTime{}};
    TestStore store{false, {}};
    ManualExecutor executor;
    EventFeed feed{1'000};
    LockService service{
        {},
        {.clock = clock,
         .store = store,
         .executor = executor,
         .random = [] { return std::uint64_t{7}; },
         .take_changes = [this](core::Changes& changes) { feed.publish(std::move(changes)); },
         .first_event = feed.next_id(),
         .on_events_lost = [this](std::uint64_t count) { feed.lose(count); },
         .on_fence_refused = [this](const FenceRefusal& refusal) { feed.publish(refusal); },
         .on_act = [this](const AdminAct& act) { feed.publish(act); }}};
    std::shared_ptr<EventFeed::Watch> somebody = feed.watch(executor, std::nullopt, [] {});
    std::uint64_t position = 0;
    Notes shown;

    PositionTest() {
        service.recover([](const StoreResult<Recovered>& result) { CHECK(result); });
    }
};

// An act is told at once, whatever the store does.
TEST_F(PositionTest, CountsActs) {
    ask(TellAct{.action = AdminAction::resign, .what = "node-1"});
    look();
    EXPECT_EQ(position, 1'000U);
    EXPECT_THAT(hear(), IsEmpty());
    ask(TellAct{.action = AdminAction::end_session, .what = "1-7"});
    EXPECT_THAT(hear(), ElementsAre("act 1-7"));
}

// The act is told in the answer to the request, before the events of the commit are.
TEST_F(PositionTest, TellsAnActBehindWhatItHasLedTo) {
    ask(take("ann", "job"));
    executor.settle();
    finish_commit();
    look();
    ASSERT_EQ(service.submit(ForceRelease{.scope = core::Scope::named("job")}), nullptr);
    service.await(answer_by([this](const Response& response) {
        EXPECT_EQ(response.count, 1U);
        tell(service, {AdminAction::force_release, "job"}, "oncall");
    }));
    executor.settle();
    finish_commit();
    EXPECT_THAT(hear(), ElementsAre("released job", "act job"));
    look();
    EXPECT_THAT(hear(), IsEmpty());
}

TEST_F(PositionTest, OfANewServerIsBeforeItsFirstEvent) {
    look();
    EXPECT_EQ(position, 999U);
    EXPECT_THAT(hear(), IsEmpty());
}

TEST_F(PositionTest, CoversWhatTheSnapshotShowsAndNothingElse) {
    ask(take("ann", "a"));
    look();  // in the same turn: it shows a, and its commit also has what comes next
    ask(take("bob", "b"));
    executor.settle();
    EXPECT_EQ(position, 0U) << "it waits for the commit";
    finish_commit();
    EXPECT_THAT(shown, ElementsAre("a 0"));
    EXPECT_THAT(hear(), ElementsAre("granted b"));
    look();
    EXPECT_THAT(shown, ElementsAre("a 0", "b 0"));
    EXPECT_THAT(hear(), IsEmpty());
}

TEST_F(PositionTest, CoversWhatHappenedWhileAnotherCommitWasUnderWay) {
    ask(take("ann", "a"));
    executor.settle();
    ask(waits("bob", "a"));  // needs no commit, and is told after the one under way
    look();
    ask(take("cid", "c"));
    executor.settle();
    finish_commit();
    EXPECT_THAT(shown, ElementsAre("a 1"));
    const std::uint64_t seen = position;
    finish_commit();
    ASSERT_EQ(position, seen);
    EXPECT_THAT(hear(), ElementsAre("granted c"));
}

TEST_F(PositionTest, OfAWaitInAnIdleServerIsThere) {
    ask(take("ann", "a"));
    executor.settle();
    finish_commit();
    ask(waits("bob", "a"));
    look();
    EXPECT_THAT(shown, ElementsAre("a 1"));
    executor.settle();
    EXPECT_THAT(hear(), IsEmpty());
}

TEST_F(PositionTest, CountsRefusedFences) {
    ask(RaiseFence{.resource = "bucket", .fence = core::Fence{7}});
    ask(take("ann", "a"));
    ask(RaiseFence{.resource = "bucket", .fence = core::Fence{6}});
    look();
    ask(take("bob", "b"));
    executor.settle();
    finish_commit();
    EXPECT_THAT(hear(), ElementsAre("granted b"));
    ask(RaiseFence{.resource = "bucket", .fence = core::Fence{5}});
    look();
    EXPECT_THAT(hear(), IsEmpty());
}

TEST_F(PositionTest, IsGoodBeforeTheFirstReader) {
    EventFeed quiet{5};
    EXPECT_EQ(quiet.next_id(), 5U);
    core::Changes changes;
    changes.add({.kind = core::EventKind::granted});
    changes.add({.kind = core::EventKind::granted});
    quiet.publish(std::move(changes));
    EXPECT_EQ(quiet.next_id(), 7U);
    EXPECT_FALSE(quiet.watch(executor, 6, [] {})->read(10).has_missed_some);
    EXPECT_TRUE(quiet.watch(executor, 5, [] {})->read(10).has_missed_some) << "it is forgotten";
}

TEST_F(PositionTest, BeforeAFailureLeadsToAGap) {
    ask(take("ann", "a"));
    executor.settle();
    ask(waits("bob", "a"));
    look();
    executor.settle();
    finish_commit();
    EXPECT_THAT(shown, ElementsAre("a 1"));
    ask(take("cid", "c"));
    executor.settle();
    store.fail("disk full");
    executor.settle();
    EXPECT_THAT(hear(), ElementsAre("gap"));
    clock.advance(1s);
    executor.ring();
    look();
    EXPECT_THAT(hear(), IsEmpty());
    ask(take("dan", "d"));
    executor.settle();
    finish_commit();
    EXPECT_THAT(hear(), ElementsAre("granted d"));
}

// Servers of a cluster number their events from the wall clock on, so that the position of one
// server is never a position of another.
TEST_F(PositionTest, AfterAChangeOfServersBeginsWithTheWallClock) {
    clock.advance(2s);
    service.recover([](const StoreResult<Recovered>& result) { CHECK(result); });
    look();
    EXPECT_EQ(position, 1'999'999U);
    EXPECT_THAT(hear(), IsEmpty());
}

TEST_F(PositionTest, IsOnlyInSnapshots) {
    ask(take("ann", "a"));
    executor.settle();
    finish_commit();
    EXPECT_EQ(service.submit(Find{})->position, 0U);
    EXPECT_GT(service.submit(Inspect{.scope = core::Scope::named("nobody")})->position, 0U);
    EXPECT_GT(service.submit(ListLeases{})->position, 0U);
    EXPECT_GT(service.submit(ListSessions{})->position, 0U);
    EXPECT_EQ(service.submit(Measure{})->position, 0U);
}

}  // namespace
}  // namespace holdfast::service::testing
