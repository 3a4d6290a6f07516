#include "service/ports/clock.h"

#include <gtest/gtest.h>

namespace holdfast::service {
namespace {

using namespace std::chrono_literals;

constexpr WallTime start{std::chrono::sys_days{std::chrono::January / 15 / 2024}};

TEST(ManualClock, StandsStillUntilItIsMoved) {
    ManualClock clock(start);
    EXPECT_EQ(clock.now(), core::Time{});
    EXPECT_EQ(clock.now(), core::Time{});
    clock.advance(90s);
    EXPECT_EQ(clock.now(), core::Time{90s});
    clock.advance(1us);
    EXPECT_EQ(clock.now(), core::Time{90s + 1us});
}

TEST(ManualClock, ItsWallTimeDependsOnTheMomentOnly) {
    ManualClock clock(start);
    EXPECT_EQ(clock.wall(core::Time{30s}), start + 30s);
    clock.advance(1h);
    EXPECT_EQ(clock.wall(core::Time{30s}), start + 30s);
}

TEST(SystemClock, NeverGoesBack) {
    const SystemClock clock;
    core::Time last = clock.now();
    for (int i = 0; i < 10'000; ++i) {
        const core::Time now = clock.now();
        ASSERT_GE(now, last);
        last = now;
    }
}

TEST(SystemClock, TranslatesToTheWallClock) {
    const SystemClock clock;
    const auto before = std::chrono::system_clock::now();
    const WallTime wall = clock.wall(clock.now() + 1h);
    const auto after = std::chrono::system_clock::now();
    // What passes between the readings of the two clocks, and the cut to whole microseconds.
    EXPECT_GE(wall, before + 1h - 10s);
    EXPECT_LE(wall, after + 1h + 10s);
}

TEST(BoottimeClock, NeverGoesBackAndKnowsTheWallClock) {
    const BoottimeClock clock;
    const core::Time first = clock.now();
    EXPECT_GT(first, core::Time{});
    EXPECT_GE(clock.now(), first);
    const auto before = std::chrono::system_clock::now() - 1h;
    const WallTime shown = clock.wall(clock.now());
    EXPECT_GT(shown, before);
    EXPECT_LT(shown, std::chrono::system_clock::now() + 1h);
    EXPECT_GT(clock.wall(first + 48h), shown + 24h);
}

}  // namespace
}  // namespace holdfast::service
