#include "base/work_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <memory>

namespace holdfast::base {
namespace {

TEST(WorkPool, RunsEverythingBeforeItEnds) {
    std::atomic<int> done = 0;
    {
        WorkPool pool(3);
        for (int i = 0; i < 1'000; ++i) pool.run([&] { ++done; });
    }
    EXPECT_EQ(done, 1'000);
}

// What tasks use is declared before the pool, so that it outlives the threads: a thread may still
// be inside set_value() or count_down() when the waiting thread has been woken.

TEST(WorkPool, RunsTasksSideBySide) {
    std::latch all_here(3);
    std::latch finished(3);
    WorkPool pool(3);
    for (int i = 0; i < 3; ++i) {
        pool.run([&] {
            all_here.arrive_and_wait();  // returns only if all three run at once
            finished.count_down();
        });
    }
    finished.wait();
}

TEST(WorkPool, BeginsTasksInTheirOrder) {
    std::vector<int> seen;
    {
        WorkPool pool(1);
        for (int i = 0; i < 100; ++i) pool.run([&seen, i] { seen.push_back(i); });
    }
    ASSERT_EQ(seen.size(), 100U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST(WorkPool, TasksMayHandInMore) {
    std::promise<void> done;
    WorkPool pool(1);
    pool.run([&] { pool.run([&] { done.set_value(); }); });
    done.get_future().wait();
}

TEST(WorkPool, CountsWhatNobodyHasBegun) {
    std::promise<void> begun;
    std::promise<void> go_on;
    WorkPool pool(1);
    pool.run([&] {
        begun.set_value();
        go_on.get_future().wait();
    });
    begun.get_future().wait();
    pool.run([] {});
    pool.run([] {});
    EXPECT_EQ(pool.queue_length(), 2U);
    go_on.set_value();
}

TEST(WorkPool, LetsGoOfATaskWhenItIsDone) {
    auto held = std::make_shared<int>(1);
    std::weak_ptr<int> watch = held;
    std::promise<bool> is_gone;
    WorkPool pool(1);
    pool.run([held = std::move(held)] {});
    pool.run([&] { is_gone.set_value(watch.expired()); });
    EXPECT_TRUE(is_gone.get_future().get());
}

}  // namespace
}  // namespace holdfast::base
