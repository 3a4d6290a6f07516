#include "embedded/service_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <string>

namespace holdfast::embedded {
namespace {

using namespace std::chrono_literals;

TEST(ServiceThread, RunsWhatArrivedTogetherInOneTurn) {
    std::string done;
    ServiceThread thread;
    thread.bind([&] { done += '.'; }, [] {});
    for (const char letter : {'a', 'b', 'c'}) {
        thread.post([&thread, &done, letter] {
            done += letter;
            thread.at_end_of_turn();
        });
    }
    thread.start();
    thread.stop();
    EXPECT_EQ(done, "abc.");
}

TEST(ServiceThread, EndsATurnThatBeganBeforeItWasStarted) {
    std::string done;
    ServiceThread thread;
    thread.bind([&] { done += '.'; }, [] {});
    thread.at_end_of_turn();
    thread.start();
    thread.stop();
    EXPECT_EQ(done, ".");
}

TEST(ServiceThread, RingsOnceAndAgainWhenAskedAgain) {
    int rings = 0;
    std::promise<void> rang_twice;
    ServiceThread thread;
    thread.bind([] {},
                [&] {
                    if (++rings == 1) thread.wake_after(1ms);
                    if (rings == 2) rang_twice.set_value();
                });
    thread.post([&] { thread.wake_after(1ms); });
    thread.start();
    rang_twice.get_future().wait();
    thread.stop();
    EXPECT_EQ(rings, 2);
}

TEST(ServiceThread, TakesTasksFromManyThreads) {
    int count = 0;
    ServiceThread thread;
    thread.bind([] {}, [] {});
    thread.start();
    std::vector<std::thread> posters;
    posters.reserve(4);
    for (int poster = 0; poster < 4; ++poster) {
        posters.emplace_back([&] {
            for (int task = 0; task < 1000; ++task) thread.post([&count] { ++count; });
        });
    }
    for (std::thread& poster : posters) poster.join();
    thread.stop();
    EXPECT_EQ(count, 4000);
}

}  // namespace
}  // namespace holdfast::embedded
