#include "app/loop_executor.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace holdfast::app {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

struct LoopExecutorTest : ::testing::Test {
    LoopExecutorTest() {
        executor.bind([this] { notes.push_back("end of turn"); },
                      [this] {
                          notes.push_back("wake");
                          loop.stop();
                      });
    }

    net::EventLoop loop;
    LoopExecutor executor{loop};
    std::vector<std::string> notes;
};

TEST_F(LoopExecutorTest, EndsATurnOnceHoweverOftenItIsAsked) {
    executor.post([this] {
        executor.at_end_of_turn();
        executor.at_end_of_turn();
        notes.push_back("turn");
    });
    executor.post([this] { loop.stop(); });
    loop.run();
    EXPECT_THAT(notes, ElementsAre("turn", "end of turn"));
}

TEST_F(LoopExecutorTest, WakesAndForgetsWhatWasAskedBefore) {
    executor.post([this] {
        executor.wake_after(1h);
        executor.wake_after(1ms);
    });
    loop.run();
    EXPECT_THAT(notes, ElementsAre("wake"));
}

TEST_F(LoopExecutorTest, TakesTheLongestDelayThereIs) {
    executor.post([this] {
        executor.wake_after(core::Duration::max());
        executor.wake_after(0s);
    });
    loop.run();
    EXPECT_THAT(notes, ElementsAre("wake"));
}

TEST_F(LoopExecutorTest, MayGoBeforeItsTurnEnds) {
    auto passing = std::make_unique<LoopExecutor>(loop);
    passing->bind([this] { notes.push_back("gone"); }, [] {});
    loop.post([&] {
        passing->at_end_of_turn();
        passing.reset();
    });
    loop.post([this] { loop.stop(); });
    loop.run();
    EXPECT_THAT(notes, ElementsAre());
}

}  // namespace
}  // namespace holdfast::app
