// Waiting for a lock: by hand-off, in order, for so long, and no longer than one cares to.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "embedded/test_manager.h"

namespace holdfast::embedded {
namespace {

using namespace testing;
using ::testing::ElementsAre;

// A call on a thread of its own.
std::future<LockResult<Lease>> later(std::function<LockResult<Lease>()> call) {
    return std::async(std::launch::async, std::move(call));
}

TEST(LockManagerWait, AWaiterIsHandedTheLockWhenItIsReleased) {
    TestManager manager;
    const auto first = manager->acquire(job("a"), forever);
    ASSERT_TRUE(first);
    auto waiting = later([&] { return manager->acquire(job("b"), forever); });
    manager.wait_for_waiters(1);
    ASSERT_TRUE(manager->release(*first));
    const auto second = waiting.get();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->holder, "b");
    EXPECT_GT(second->fencing_token, first->fencing_token);
}

TEST(LockManagerWait, AWaiterIsHandedTheLockWhenALeaseEnds) {
    TestManager manager;
    ASSERT_TRUE(manager->acquire(job("a"), forever));
    auto waiting = later([&] { return manager->acquire(job("b"), forever); });
    manager.wait_for_waiters(1);
    manager.advance(30s);
    const auto second = waiting.get();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->acquired_at, test_epoch + 30s);
    EXPECT_EQ(second->expires_at, test_epoch + 60s) << "a lease begins with its grant";
}

TEST(LockManagerWait, WaitersAreServedInTheOrderInWhichTheyCame) {
    TestManager manager;
    const auto first = manager->acquire(job("first"), forever);
    ASSERT_TRUE(first);
    std::mutex mutex;
    std::vector<std::string> order;
    std::vector<std::thread> threads;
    for (const std::string name : {"a", "b", "c", "d", "e"}) {
        threads.emplace_back([&, name] {
            const auto lock = manager->acquire(job(name), forever);
            {
                const std::lock_guard guard(mutex);
                order.push_back(to_note(lock) + " " + name);
            }
            EXPECT_TRUE(manager->release(*lock));
        });
        manager.wait_for_waiters(threads.size());
    }
    EXPECT_EQ(to_note(manager->try_acquire(job("barger"))), "held by first");
    ASSERT_TRUE(manager->release(*first));
    for (std::thread& thread : threads) thread.join();
    EXPECT_THAT(order, ElementsAre("ok a", "ok b", "ok c", "ok d", "ok e"));
}

TEST(LockManagerWait, ATryDoesNotOvertakeThoseWhoWait) {
    TestManager manager;
    const auto reader = manager->acquire(shared(job("reader")), forever);
    ASSERT_TRUE(reader);
    auto writer = later([&] { return manager->acquire(job("writer"), forever); });
    manager.wait_for_waiters(1);
    EXPECT_EQ(to_note(manager->try_acquire(shared(job("reader2")))), "held by reader");
    ASSERT_TRUE(manager->release(*reader));
    EXPECT_TRUE(writer.get());
}

TEST(LockManagerWait, ARangeWaitsOnlyForThoseThatOverlapIt) {
    TestManager manager;
    const auto range = [](std::uint64_t start, std::uint64_t end, std::string holder) {
        return ask_for(LockScope::ByteRange{7, start, end}, std::move(holder));
    };
    const auto low = manager->acquire(range(0, 10, "low"), forever);
    const auto high = manager->acquire(range(20, 30, "high"), forever);
    ASSERT_TRUE(low && high);
    auto across = later([&] { return manager->acquire(range(5, 25, "across"), forever); });
    manager.wait_for_waiters(1);
    EXPECT_FALSE(manager->try_acquire(range(10, 20, "between")))
        << "it would be in the way of the one that waits";
    EXPECT_EQ(to_note(manager->try_acquire(range(30, 40, "beyond"))), "ok");
    ASSERT_TRUE(manager->release(*low) && manager->release(*high));
    EXPECT_TRUE(across.get());
}

TEST(LockManagerWait, AWaitThatIsOverSaysWhoHoldsTheLock) {
    TestManager manager;
    ASSERT_TRUE(manager->acquire(job("a"), forever));
    auto waiting = later([&] { return manager->acquire(job("b"), 10s); });
    manager.wait_for_waiters(1);
    manager.advance(10s - 1us);
    EXPECT_EQ(manager.engine->counts().waiters, 1U);
    manager.advance(1us);
    EXPECT_EQ(to_note(waiting.get()), "held by a");
    EXPECT_EQ(to_note(manager->acquire(job("b"), 0s)), "held by a") << "as a try";
    EXPECT_EQ(to_note(manager->acquire(job("b"), -1s)), "held by a") << "as a try";
}

TEST(LockManagerWait, AWaitOfAnyLengthIsServedInTime) {
    TestManager manager;
    const auto first = manager->acquire(job("a"), forever);
    ASSERT_TRUE(first);
    auto waiting =
        later([&] { return manager->acquire(job("b"), std::chrono::milliseconds::max()); });
    manager.wait_for_waiters(1);
    ASSERT_TRUE(manager->release(*first));
    EXPECT_EQ(to_note(waiting.get()), "ok");
}

TEST(LockManagerWait, AWaitOfHoursKeepsItsPlaceAlsoUnderARequestId) {
    TestManager manager;
    const auto first = manager->try_acquire({.scope = LockScope::Named{"job"}, .ttl = 3h});
    ASSERT_TRUE(first);
    LeaseRequest request = job("b");
    request.request_id = "mine";
    auto waiting = later([&] { return manager->acquire(request, 2h); });
    manager.wait_for_waiters(1);
    manager.pass(1h, 1min);
    EXPECT_EQ(manager.engine->counts().waiters, 1U);
    ASSERT_TRUE(manager->release(*first));
    EXPECT_EQ(to_note(waiting.get()), "ok");
}

TEST(LockManagerWait, AWaitIsCancelledAndLeavesNothingBehind) {
    TestManager manager;
    const auto first = manager->acquire(job("a"), forever);
    ASSERT_TRUE(first);
    std::stop_source stop;
    auto waiting = later([&] { return manager->acquire(job("b"), forever, stop.get_token()); });
    manager.wait_for_waiters(1);
    stop.request_stop();
    EXPECT_EQ(to_note(waiting.get()), "cancelled");
    manager.wait_for_waiters(0);
    ASSERT_TRUE(manager->release(*first));
    EXPECT_EQ(to_note(manager->try_acquire(job("c"))), "ok");
}

TEST(LockManagerWait, WhoIsCancelledBeforeAskingGetsNothing) {
    TestManager manager;
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(to_note(manager->acquire(job("a"), forever, stop.get_token())), "cancelled");
    EXPECT_EQ(to_note(manager->acquire(job("b"), forever)), "ok");
}

TEST(LockManagerWait, WaitsCountAgainstTheLimits) {
    TestManager manager({.leases_per_holder_max = 2, .waiters_max = 2});
    const auto first = manager->acquire(job("a"), forever);
    ASSERT_TRUE(first);
    auto one = later([&] { return manager->acquire(job("a"), forever); });
    manager.wait_for_waiters(1);
    EXPECT_EQ(to_note(manager->acquire(job("a"), 1s)), "limit") << "the holder's";
    auto two = later([&] { return manager->acquire(job("b"), forever); });
    manager.wait_for_waiters(2);
    EXPECT_EQ(to_note(manager->acquire(job("c"), 1s)), "limit") << "of all waits";
    ASSERT_TRUE(manager->release(*first));
    const auto second = one.get();
    ASSERT_TRUE(second && manager->release(*second));
    EXPECT_TRUE(two.get());
}

}  // namespace
}  // namespace holdfast::embedded
