#include "service/history/open_holds.h"

#include <gtest/gtest.h>

namespace holdfast::service {
namespace {

using namespace std::chrono_literals;

TEST(OpenHolds, RemembersHowAHoldBeganUntilItEnds) {
    OpenHolds open;
    open.begin(1, {.waited = 3s, .by = "ci"});
    open.begin(2, {.by = "ops"});
    EXPECT_EQ(open.find(1).waited, 3s);
    EXPECT_EQ(open.find(1).by, "ci");
    EXPECT_EQ(open.find(2).by, "ops");
    open.end(1);
    EXPECT_TRUE(open.find(1).is_usual());
    EXPECT_EQ(open.find(2).by, "ops");
}

TEST(OpenHolds, HaveNothingOfThoseThatBeganAsUsual) {
    OpenHolds open;
    open.begin(1, {});
    EXPECT_EQ(open.size(), 0U);
    open.end(1);
}

TEST(OpenHolds, KeepEachNameOnceAndForgetWhatNoHoldHas) {
    OpenHolds open;
    for (std::uint64_t fence = 1; fence <= 1'000; ++fence) {
        open.begin(fence, {.by = fence % 2 == 0 ? "ci" : "ops"});
    }
    EXPECT_EQ(open.name_count(), 2U);
    // One address after the other, as from a client that changes its own.
    for (std::uint64_t fence = 1'001; fence <= 2'000; ++fence) {
        open.begin(fence, {.by = "http@" + std::to_string(fence)});
        open.end(fence);
    }
    EXPECT_LE(open.name_count(), 3U) << "the last one is kept for the next grant";
    for (std::uint64_t fence = 1; fence <= 1'000; ++fence) open.end(fence);
    EXPECT_EQ(open.size(), 0U);
    EXPECT_LE(open.name_count(), 1U);
    open.begin(7, {.by = "ci"});
    EXPECT_EQ(open.find(7).by, "ci");
    open.begin(7, {.by = "ops"});
    EXPECT_EQ(open.find(7).by, "ops");
    open.clear();
    EXPECT_EQ(open.name_count(), 0U);
}

}  // namespace
}  // namespace holdfast::service
