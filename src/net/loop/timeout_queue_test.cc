#include "net/loop/timeout_queue.h"

#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

using std::chrono::seconds;

constexpr EventLoop::TimePoint start{};

TEST(TimeoutQueue, HasTheEntryInFrontThatStartedFirst) {
    TimeoutQueue queue(seconds(5));
    TimeoutEntry a(nullptr), b(nullptr);
    queue.start(a, start);
    queue.start(b, start + seconds(1));
    EXPECT_EQ(&a, &queue.front());
    EXPECT_EQ(start + seconds(5), a.deadline());
    queue.start(a, start + seconds(2));
    EXPECT_EQ(&b, &queue.front());
}

TEST(TimeoutQueue, ForgetsEntriesThatStopOrEnd) {
    TimeoutQueue queue(seconds(5));
    TimeoutEntry a(nullptr);
    queue.start(a, start);
    a.stop();
    a.stop();
    EXPECT_FALSE(a.running());
    {
        TimeoutEntry b(nullptr);
        queue.start(b, start);
    }
    EXPECT_TRUE(queue.empty());
}

TEST(TimeoutQueue, MovesAnEntryFromOneQueueToAnother) {
    TimeoutQueue first(seconds(5)), second(seconds(1));
    TimeoutEntry a(nullptr);
    first.start(a, start);
    second.start(a, start);
    EXPECT_TRUE(first.empty());
    EXPECT_EQ(start + seconds(1), second.front().deadline());
}

TEST(TimeoutQueue, OfLengthZeroTimesNothing) {
    TimeoutQueue never(seconds(0)), other(seconds(1));
    TimeoutEntry a(nullptr);
    other.start(a, start);
    never.start(a, start);
    EXPECT_FALSE(a.running());
    EXPECT_TRUE(never.empty());
}

}  // namespace
}  // namespace holdfast::net
