#include "cluster/boottime_clock.h"

#include <gtest/gtest.h>

namespace holdfast::cluster {
namespace {

using namespace std::chrono_literals;

TEST(BoottimeClock, NeverGoesBackAndKnowsTheWallClock) {
    const BoottimeClock clock;
    const core::Time first = clock.now();
    EXPECT_GT(first, core::Time{});
    EXPECT_GE(clock.now(), first);
    const auto before = std::chrono::system_clock::now() - 1h;
    const service::WallTime shown = clock.wall(clock.now());
    EXPECT_GT(shown, before);
    EXPECT_LT(shown, std::chrono::system_clock::now() + 1h);
    EXPECT_GT(clock.wall(first + 48h), shown + 24h);
}

}  // namespace
}  // namespace holdfast::cluster
