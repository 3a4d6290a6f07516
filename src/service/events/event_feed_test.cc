#include "service/events/event_feed.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "service/ports/test_executor.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

core::Changes granted(std::string_view job) {
    core::Event event;
    event.lease.scope = core::Scope::named(job);
    event.lease.owner.name = "laptop1";
    core::Changes changes;
    changes.add(event);
    return changes;
}

std::vector<std::string> names(const EventFeed::Watch::Page& page) {
    std::vector<std::string> result;
    if (page.has_missed_some) result.emplace_back("missed some");
    for (const auto& one : page.events) {
        result.push_back(std::to_string(one->id) + " " + std::string(one->event.lease.scope.name));
    }
    return result;
}

struct Feed : ::testing::Test {
    Feed() { let_somebody_watch(feed); }

    // From the first watch on, the feed keeps what happens.
    void let_somebody_watch(EventFeed& of) {
        EXPECT_TRUE(of.watch(executor, std::nullopt, [] {}));
    }

    std::shared_ptr<EventFeed::Watch> watch(std::optional<std::uint64_t> after = std::nullopt) {
        return feed.watch(executor, after, [this] { ++news; });
    }

    EventFeed feed{100, {.events_max = 3}};
    ManualExecutor executor;
    int news = 0;
};

// Events may be long: what is read at once ends behind the one with which it has a MiB.
TEST_F(Feed, IsReadInPartsIfEventsAreLong) {
    const auto watch = this->watch();
    for (int i = 0; i < 3; ++i) feed.publish(granted(std::string(600'000, 'x')));
    executor.settle();
    const EventFeed::Watch::Page first = watch->read(500);
    EXPECT_EQ(first.events.size(), 2U);
    EXPECT_TRUE(first.has_more);
    executor.settle();
    EXPECT_EQ(news, 2) << "there is more";
    const EventFeed::Watch::Page second = watch->read(500);
    EXPECT_EQ(second.events.size(), 1U);
    EXPECT_FALSE(second.has_more);
}

TEST_F(Feed, TellsWhatHappensFromNowOn) {
    feed.publish(granted("before"));
    const auto watch = this->watch();
    EXPECT_THAT(names(watch->read(10)), IsEmpty());
    {
        const std::string name = "a name that is gone when it is read, and longer than a word";
        feed.publish(granted(name));
    }
    executor.settle();
    EXPECT_EQ(news, 1);
    EXPECT_THAT(names(watch->read(10)),
                ElementsAre("101 a name that is gone when it is read, and longer than a word"));
}

TEST_F(Feed, CountsWithoutKeepingUntilSomebodyWatches) {
    EventFeed fresh(100);
    fresh.publish(granted("a"));
    fresh.publish(FenceRefusal{.resource = "bucket", .number = 33, .highest = 34});
    fresh.publish(granted("b"));
    // Of a server that was started anew.
    const auto returned = fresh.watch(executor, 100, [this] { ++news; });
    const auto first = fresh.watch(executor, std::nullopt, [] {});
    executor.settle();
    EXPECT_EQ(news, 1);
    EXPECT_THAT(names(returned->read(10)), ElementsAre("missed some"));
    fresh.publish(granted("c"));
    EXPECT_THAT(names(returned->read(10)), ElementsAre("103 c"));
    EXPECT_THAT(names(first->read(10)), ElementsAre("103 c"));
    EXPECT_THAT(names(fresh.watch(executor, 102, [] {})->read(10)), ElementsAre("103 c"));
}

TEST_F(Feed, TellsOfActsInTheSameRow) {
    const auto watch = this->watch();
    feed.publish(granted("a"));
    {
        const std::string name = "a lock that is gone when it is read, and longer than a word";
        feed.publish(AdminAct{.at = core::Time{std::chrono::seconds{7}},
                              .action = AdminAction::end_session,
                              .what = name,
                              .by = "oncall"});
    }
    feed.publish(FenceRefusal{.resource = "bucket", .number = 33, .highest = 34});
    const auto page = watch->read(10);
    ASSERT_EQ(page.events.size(), 3U);
    EXPECT_TRUE(page.events[0]->is_transition());
    EXPECT_FALSE(page.events[1]->is_transition());
    const auto& act = page.events[1]->act;
    ASSERT_TRUE(act);
    EXPECT_EQ(act->action, AdminAction::end_session);
    EXPECT_EQ(act->what, "a lock that is gone when it is read, and longer than a word");
    EXPECT_EQ(act->by, "oncall");
    EXPECT_FALSE(page.events[2]->act);
    EXPECT_EQ(page.events[2]->refused_fence->highest, 34U);
}

TEST_F(Feed, TellsOfRefusedFencesInTheSameRow) {
    const auto watch = this->watch();
    feed.publish(granted("a"));
    {
        const std::string name = "a bucket that is gone when it is read, and longer than a word";
        feed.publish(FenceRefusal{.at = core::Time{std::chrono::seconds{7}},
                                  .resource = name,
                                  .number = 33,
                                  .highest = 34});
    }
    feed.publish(granted("b"));
    const auto page = watch->read(10);
    ASSERT_EQ(page.events.size(), 3U);
    EXPECT_FALSE(page.events[0]->refused_fence);
    EXPECT_FALSE(page.events[2]->refused_fence);
    EXPECT_EQ(page.events[1]->id, 101U);
    const auto& refused = page.events[1]->refused_fence;
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->resource, "a bucket that is gone when it is read, and longer than a word");
    EXPECT_EQ(refused->number, 33U);
    EXPECT_EQ(refused->highest, 34U);
    EXPECT_EQ(refused->at, core::Time{std::chrono::seconds{7}});
}

TEST_F(Feed, CallsOnceUntilItIsRead) {
    const auto watch = this->watch();
    feed.publish(granted("a"));
    feed.publish(granted("b"));
    executor.settle();
    EXPECT_EQ(news, 1);
    EXPECT_THAT(names(watch->read(1)), ElementsAre("100 a"));
    executor.settle();
    EXPECT_EQ(news, 2) << "there is more";
    EXPECT_THAT(names(watch->read(1)), ElementsAre("101 b"));
    executor.settle();
    EXPECT_EQ(news, 2);
}

TEST_F(Feed, GoesOnWhereAReaderStopped) {
    for (const char* job : {"a", "b", "c"}) feed.publish(granted(job));
    const auto watch = this->watch(100);
    executor.settle();
    EXPECT_EQ(news, 1);
    EXPECT_THAT(names(watch->read(10)), ElementsAre("101 b", "102 c"));
    EXPECT_THAT(names(this->watch(102)->read(10)), IsEmpty());
}

TEST_F(Feed, SaysWhenAReaderMissedSome) {
    for (const char* job : {"a", "b", "c", "d", "e"}) feed.publish(granted(job));
    EXPECT_THAT(names(watch(100)->read(10)), ElementsAre("missed some", "102 c", "103 d", "104 e"));
    EXPECT_THAT(names(watch(101)->read(10)), ElementsAre("102 c", "103 d", "104 e"));
    EXPECT_THAT(names(watch(7)->read(1)), ElementsAre("missed some", "102 c"));
    EXPECT_THAT(names(watch(105)->read(10)), ElementsAre("missed some", "102 c", "103 d", "104 e"))
        << "a number that was not given out yet";
    EXPECT_THAT(names(watch(UINT64_MAX)->read(1)), ElementsAre("missed some", "102 c"));
}

TEST_F(Feed, KeepsTheLatestOfVeryMany) {
    EventFeed long_feed(1, {.events_max = 300});
    let_somebody_watch(long_feed);
    for (int i = 1; i <= 2'000; ++i) long_feed.publish(granted(std::to_string(i)));
    const auto page = long_feed.watch(executor, 0, [] {})->read(1'000);
    EXPECT_TRUE(page.has_missed_some);
    ASSERT_EQ(page.events.size(), 300U);
    for (std::size_t index = 0; index < page.events.size(); ++index) {
        EXPECT_EQ(page.events[index]->id, 1'701 + index);
        EXPECT_EQ(page.events[index]->event.lease.scope.name, std::to_string(1'701 + index));
    }
}

TEST_F(Feed, KeepsNoMoreTextThanItMay) {
    EventFeed small(1, {.bytes_max = 10'000});
    let_somebody_watch(small);
    for (int i = 0; i < 5; ++i) small.publish(granted(std::string(4'000, 'x')));
    EXPECT_EQ(small.watch(executor, 0, [] {})->read(10).events.size(), 2U);
}

TEST_F(Feed, TakesWhatHappenedTogether) {
    EventFeed long_feed(1, {.events_max = 300});
    core::Changes together;
    for (int i = 1; i <= 1'000; ++i) together.add(granted(std::to_string(i))[0]);
    const auto watch = long_feed.watch(executor, 0, [this] { ++news; });
    long_feed.publish(std::move(together));
    executor.settle();
    EXPECT_EQ(news, 1);
    const auto page = watch->read(1'000);
    EXPECT_TRUE(page.has_missed_some);
    ASSERT_EQ(page.events.size(), 300U);
    EXPECT_EQ(page.events.front()->event.lease.scope.name, "701");
    EXPECT_EQ(page.events.back()->event.lease.scope.name, "1000");
}

TEST_F(Feed, NumbersWhatItTakesAndWhatItCopiesInOneRow) {
    EventFeed long_feed(1);
    let_somebody_watch(long_feed);
    auto publish = [&long_feed, next = 1](int count) mutable {
        core::Changes together;
        for (int i = 0; i < count; ++i) together.add(granted(std::to_string(next++))[0]);
        long_feed.publish(std::move(together));
    };
    for (const int count : {1, 500, 1, 1, 64, 63, 2'000, 3}) publish(count);
    const auto watch = long_feed.watch(executor, 0, [] {});
    std::size_t read = 0;
    for (bool has_more = true; has_more;) {
        const auto page = watch->read(10'000);
        EXPECT_FALSE(page.has_missed_some);
        for (const auto& event : page.events) {
            ++read;
            EXPECT_EQ(event->id, read);
            EXPECT_EQ(event->event.lease.scope.name, std::to_string(read));
        }
        has_more = page.has_more;
    }
    EXPECT_EQ(read, 2'633U);
}

TEST_F(Feed, LeavesRoomForOthersWhereItTakesMany) {
    EventFeed long_feed(1, {.events_max = 1'000});
    let_somebody_watch(long_feed);
    core::Changes together;
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 500; ++i) together.add(granted("job")[0]);
        long_feed.publish(std::move(together));
        // What comes back is another, for the next. NOLINTNEXTLINE(bugprone-use-after-move)
        together.clear();
    }
    // NOLINTNEXTLINE(bugprone-use-after-move)
    EXPECT_GE(together.capacity(), 500U) << "that of a chunk which was forgotten";
}

TEST_F(Feed, DoesNotCallAWatchThatIsGone) {
    auto watch = this->watch();
    feed.publish(granted("a"));
    watch.reset();
    executor.settle();
    feed.publish(granted("b"));
    executor.settle();
    EXPECT_EQ(news, 0);
}

TEST_F(Feed, IsReadOnOtherThreadsWhileItIsWritten) {
    EventFeed busy(1, {.events_max = 100'000});
    constexpr std::uint64_t events = 5'000;
    std::atomic<std::uint64_t> seen = 0;
    std::shared_ptr<EventFeed::Watch> watch;
    let_somebody_watch(busy);
    ThreadExecutor thread;
    thread.bind([] {}, [] {});
    thread.start();
    thread.post([&] {
        watch = busy.watch(thread, 0, [&] {
            for (const auto& one : watch->read(100).events) {
                EXPECT_EQ(one->id, seen + 1);
                seen = one->id;
            }
        });
    });
    for (std::uint64_t i = 0; i < events; ++i) busy.publish(granted("job"));
    while (seen < events) std::this_thread::yield();
    thread.post([&] { watch.reset(); });
    thread.stop();
}

}  // namespace
}  // namespace holdfast::service::testing
