#include "net/loop/event_loop.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "net/loop/loop_timer.h"

namespace holdfast::net {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr std::chrono::seconds patience{100};

TEST(EventLoop, RunsPostedFunctionsInOrderAndNeverInsideTheCall) {
    EventLoop loop;
    std::vector<int> seen;
    loop.post([&] {
        loop.post([&] {
            seen.push_back(3);
            loop.stop();
        });
        seen.push_back(1);
    });
    loop.post([&] { seen.push_back(2); });
    EXPECT_TRUE(seen.empty());
    loop.run();
    EXPECT_EQ((std::vector{1, 2, 3}), seen);
}

TEST(EventLoop, IsReachedFromOtherThreads) {
    EventLoop loop;
    std::thread thread([&] { loop.run(); });
    int count = 0;
    for (int i = 0; i < 1000; ++i) loop.post([&] { ++count; });
    loop.post([&] { loop.stop(); });
    thread.join();
    EXPECT_EQ(1000, count);
}

TEST(EventLoop, DoesNotForgetThatItWasStoppedBeforeItRan) {
    EventLoop loop;
    loop.stop();
    loop.run();
}

TEST(EventLoop, MayBeRunAgain) {
    EventLoop loop;
    int runs = 0;
    for (int i = 0; i < 2; ++i) {
        loop.post([&] {
            ++runs;
            loop.stop();
        });
        loop.run();
    }
    EXPECT_EQ(2, runs);
}

class Task final : public TurnTask {
  public:
    explicit Task(std::function<void()> work) : work_(std::move(work)) {}
    void on_end_of_turn() override { work_(); }

  private:
    std::function<void()> work_;
};

TEST(EventLoop, RunsScheduledTasksOnceAtTheEndOfTheTurn) {
    EventLoop loop;
    std::vector<int> seen;
    Task second([&] { seen.push_back(3); });
    Task first([&] {
        seen.push_back(2);
        loop.schedule(second);
    });
    Task removed([&] { seen.push_back(99); });
    loop.post([&] {
        loop.schedule(first);
        loop.schedule(first);
        loop.schedule(removed);
        loop.unschedule(removed);
        seen.push_back(1);
    });
    loop.post([&] {
        seen.push_back(4);
        loop.stop();
    });
    loop.run();
    EXPECT_EQ((std::vector{1, 2, 3, 4}), seen);
}

TEST(EventLoop, RunsATaskThatIsScheduledBetweenTurns) {
    EventLoop loop;
    bool has_run = false;
    Task task([&] {
        has_run = true;
        loop.stop();
    });
    loop.schedule(task);
    loop.context().run_for(patience);
    EXPECT_TRUE(has_run);
}

TEST(LoopTimer, RingsAtItsMomentAndNotBefore) {
    EventLoop loop;
    const auto due = EventLoop::Clock::now() + milliseconds(20);
    LoopTimer timer(loop, [&] {
        EXPECT_GE(EventLoop::Clock::now(), due);
        EXPECT_GE(loop.now(), due);
        loop.stop();
    });
    timer.call_at(due);
    loop.run();
}

TEST(LoopTimer, KeepsTheLastMomentItWasGiven) {
    EventLoop loop;
    const auto now = EventLoop::Clock::now();
    int rings = 0;
    LoopTimer timer(loop, [&] {
        ++rings;
        EXPECT_GE(EventLoop::Clock::now(), now + milliseconds(20));
        loop.stop();
    });
    timer.call_at(now + hours(1));
    timer.call_at(now + milliseconds(1));
    timer.call_at(now + milliseconds(20));
    loop.run();
    EXPECT_EQ(1, rings);
}

TEST(LoopTimer, RingsForAMomentThatHasPassed) {
    EventLoop loop;
    bool has_rung = false;
    LoopTimer timer(loop, [&] {
        has_rung = true;
        loop.stop();
    });
    timer.call_at(EventLoop::Clock::now() - hours(1));
    loop.context().run_for(patience);
    EXPECT_TRUE(has_rung);
}

TEST(LoopTimer, MaySetItselfAgain) {
    EventLoop loop;
    int rings = 0;
    LoopTimer* self = nullptr;
    LoopTimer timer(loop, [&] {
        if (++rings == 3) return loop.stop();
        self->call_at(loop.now() + milliseconds(1));
    });
    self = &timer;
    timer.call_at(EventLoop::Clock::now());
    loop.run();
    EXPECT_EQ(3, rings);
}

TEST(LoopTimer, IsSilentWhenCancelledOrDestroyed) {
    EventLoop loop;
    const auto soon = EventLoop::Clock::now() + milliseconds(1);
    LoopTimer cancelled(loop, [] { FAIL(); });
    cancelled.call_at(soon);
    cancelled.cancel();
    {
        LoopTimer destroyed(loop, [] { FAIL(); });
        destroyed.call_at(soon);
    }
    LoopTimer end(loop, [&] { loop.stop(); });
    end.call_at(soon + milliseconds(10));
    loop.run();
}

}  // namespace
}  // namespace holdfast::net
