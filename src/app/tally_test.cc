#include "app/tally.h"

#include <gmock/gmock.h>

#include <memory>
#include <vector>

namespace holdfast::app {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

class TallyTest : public ::testing::Test {
  protected:
    [[nodiscard]] std::unique_ptr<Tally> make(net::EventLoop::Clock::duration interval) {
        return std::make_unique<Tally>(loop_, interval, [this](std::uint64_t times) {
            reports_.push_back(times);
            if (reports_.size() == stop_after_) loop_.stop();
        });
    }

    net::EventLoop loop_;
    std::vector<std::uint64_t> reports_;
    std::size_t stop_after_ = 0;
};

TEST_F(TallyTest, ReportsTheFirstAtOnceAndTheRestOfABurstWhenItsIntervalIsOver) {
    const auto tally = make(1ms);
    // The timer cannot ring in the middle of this turn.
    loop_.post([&] {
        for (int i = 0; i < 4; ++i) tally->add();
        EXPECT_THAT(reports_, ElementsAre(1));
    });
    stop_after_ = 2;
    loop_.run();
    EXPECT_THAT(reports_, ElementsAre(1, 3));
}

TEST_F(TallyTest, ReportsAtOnceAgainAfterAQuietInterval) {
    const auto tally = make(1ms);
    net::LoopTimer later(loop_, [&] {
        tally->add();
        EXPECT_THAT(reports_, ElementsAre(1, 1));
    });
    loop_.post([&] {
        tally->add();
        later.call_at(net::EventLoop::Clock::now() + 20ms);
    });
    stop_after_ = 2;
    loop_.run();
}

TEST_F(TallyTest, ReportsTheRestWhenItIsDestroyed) {
    auto tally = make(1h);
    for (int i = 0; i < 3; ++i) tally->add();
    EXPECT_THAT(reports_, ElementsAre(1));
    tally.reset();
    EXPECT_THAT(reports_, ElementsAre(1, 2));
    tally = make(1h);
    tally->add();
    tally.reset();
    EXPECT_THAT(reports_, ElementsAre(1, 2, 1)) << "there is no rest";
}

}  // namespace
}  // namespace holdfast::app
