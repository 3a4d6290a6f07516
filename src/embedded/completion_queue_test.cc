#include "holdfast/completion_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

CompletionQueue open_queue() {
    auto queue = CompletionQueue::open();
    if (!queue) ADD_FAILURE() << to_text(queue.error());
    return *std::move(queue);
}

bool is_readable(const CompletionQueue& queue) {
    ::pollfd event{.fd = queue.descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&event, 1, 0) == 1;
}

TEST(CompletionQueue, IsReadableWhileThereIsATask) {
    CompletionQueue queue = open_queue();
    EXPECT_FALSE(is_readable(queue));
    EXPECT_EQ(queue.run(), 0U);
    queue.post([] {});
    queue.post([] {});
    EXPECT_TRUE(is_readable(queue));
    EXPECT_EQ(queue.run(), 2U);
    EXPECT_FALSE(is_readable(queue));
}

TEST(CompletionQueue, RunsTasksInOrderAndTheirTasksTheNextTime) {
    CompletionQueue queue = open_queue();
    std::string done;
    for (const char letter : {'a', 'b', 'c'}) {
        queue.post([&, letter] {
            done += letter;
            queue.post([&, letter] { done += static_cast<char>(letter - 'a' + 'A'); });
        });
    }
    EXPECT_EQ(queue.run(), 3U);
    EXPECT_EQ(done, "abc");
    EXPECT_TRUE(is_readable(queue));
    queue.run();
    EXPECT_EQ(done, "abcABC");
}

TEST(CompletionQueue, KeepsTheTasksAfterOneThatThrows) {
    CompletionQueue queue = open_queue();
    int done = 0;
    queue.post([] { throw std::runtime_error("no"); });
    queue.post([&] { ++done; });
    EXPECT_THROW(queue.run(), std::runtime_error);
    EXPECT_TRUE(is_readable(queue));
    EXPECT_EQ(queue.run(), 1U);
    EXPECT_EQ(done, 1);
}

TEST(CompletionQueue, TakesTasksFromManyThreads) {
    CompletionQueue queue = open_queue();
    int count = 0;  // not atomic: one thread runs all tasks
    {
        std::vector<std::jthread> threads;
        threads.reserve(4);
        for (int thread = 0; thread < 4; ++thread) {
            threads.emplace_back([executor = queue.executor(), &count] {
                for (int task = 0; task < 500; ++task) executor([&count] { ++count; });
            });
        }
        while (count < 2000) {
            ::pollfd event{.fd = queue.descriptor(), .events = POLLIN, .revents = 0};
            ASSERT_EQ(::poll(&event, 1, -1), 1);
            queue.run();
        }
    }
    EXPECT_FALSE(is_readable(queue));
}

// What a task owns may post another one while it is destroyed.
TEST(CompletionQueue, DestroysTheTasksThatItHasNotRun) {
    auto queue = std::make_optional(open_queue());
    const Executor executor = queue->executor();
    auto owned = std::shared_ptr<int>(new int{1}, [executor](const int* number) {
        delete number;
        executor([] {});
    });
    const std::weak_ptr<int> watched = owned;
    queue->post([kept = std::move(owned)] {});
    EXPECT_FALSE(watched.expired());
    queue.reset();
    EXPECT_TRUE(watched.expired());
    bool has_run = false;
    executor([&] { has_run = true; });
    EXPECT_FALSE(has_run) << "it comes too late";
}

TEST(CompletionQueue, MayBeDestroyedByATask) {
    auto queue = std::make_optional(open_queue());
    bool has_run = false;
    queue->post([&] { queue.reset(); });
    queue->post([&] { has_run = true; });
    EXPECT_EQ(queue->run(), 1U);
    EXPECT_FALSE(has_run);
}

TEST(CompletionQueue, IsMoved) {
    CompletionQueue queue = open_queue();
    const Executor executor = queue.executor();
    CompletionQueue other = open_queue();
    other.post([] { ADD_FAILURE() << "the queue that it was in is gone"; });
    other = std::move(queue);
    int done = 0;
    executor([&] { ++done; });
    EXPECT_EQ(other.run(), 1U);
    EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace holdfast
