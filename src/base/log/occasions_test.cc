#include "base/log/occasions.h"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

using namespace std::chrono_literals;

TEST(Occasions, WriteOneLineInAnIntervalAndCountTheRest) {
    const Occasions::TimePoint start{};
    Occasions occasions(1s);
    EXPECT_EQ(occasions.count(start), 1U) << "the first one is told at once";
    EXPECT_EQ(occasions.count(start), std::nullopt);
    EXPECT_EQ(occasions.count(start + 999ms), std::nullopt);
    EXPECT_EQ(occasions.count(start + 1s), 3U);
    EXPECT_EQ(occasions.count(start + 1500ms), std::nullopt);
    EXPECT_EQ(occasions.count(start + 60s), 2U);
}

}  // namespace
}  // namespace holdfast::base
