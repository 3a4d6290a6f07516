#include "base/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::base {

namespace {

using ::testing::ElementsAre;

TEST(Histogram, PutsAValueUnderTheFirstBoundItDoesNotExceed) {
    Histogram histogram(0.5, 3);
    for (const double value : {0.0, 0.5, 0.6, 1.0, 2.0, 2.1, 1e9}) histogram.add(value);
    EXPECT_THAT(histogram.counts(), ElementsAre(2, 2, 1, 2));
    EXPECT_EQ(histogram.count(), 7U);
    EXPECT_DOUBLE_EQ(histogram.sum(), 0.5 + 0.6 + 1.0 + 2.0 + 2.1 + 1e9);
}

TEST(Histogram, NamesItsBounds) {
    const Histogram histogram(0.5, 3);
    EXPECT_EQ(histogram.bound(0), 0.5);
    EXPECT_EQ(histogram.bound(2), 2.0);
}

using std::chrono::nanoseconds;

TEST(Histogram, HasTheBoundsThatItIsGiven) {
    constexpr double bounds[] = {0.1, 0.25, 1};
    Histogram histogram(bounds);
    for (const double value : {0.05, 0.1, 0.2, 0.9, 7.0}) histogram.add(value);
    EXPECT_THAT(histogram.counts(), ElementsAre(2, 1, 1, 1));
    EXPECT_EQ(histogram.bound(1), 0.25);
    const Histogram same(bounds, {2, 1, 1, 1}, 8.25);
    EXPECT_EQ(same.counts(), histogram.counts());
    EXPECT_EQ(same.count(), 5U);
    EXPECT_DOUBLE_EQ(same.sum(), histogram.sum());
}

// A larger value beside it, so that the quantile is that of the bucket.
TEST(LatencyHistogram, KnowsAValueToATenthOfAPercent) {
    for (std::int64_t value = 1; value < (std::int64_t{1} << 39); value = value * 5 / 4 + 1) {
        LatencyHistogram histogram;
        histogram.add(nanoseconds(value));
        histogram.add(nanoseconds(value * 2));
        const auto found = histogram.quantile(0.5).count();
        EXPECT_GE(found, value);
        EXPECT_LE(found, value + value / 1024);
    }
}

TEST(LatencyHistogram, KnowsTheSmallestAndTheLargestValueExactly) {
    LatencyHistogram histogram, other;
    EXPECT_EQ(histogram.min().count(), 0);
    EXPECT_EQ(histogram.max().count(), 0);
    for (const std::int64_t value : {9'437'183, 123'456'789, 9'437'184}) {
        histogram.add(nanoseconds(value));
    }
    EXPECT_EQ(histogram.min().count(), 9'437'183);
    EXPECT_EQ(histogram.max().count(), 123'456'789);
    EXPECT_EQ(histogram.quantile(1).count(), 123'456'789);
    other.add(nanoseconds(5));
    histogram.add(other);
    histogram.add(LatencyHistogram());
    EXPECT_EQ(histogram.min().count(), 5);
    EXPECT_EQ(histogram.max().count(), 123'456'789);
}

TEST(LatencyHistogram, OrdersItsValues) {
    LatencyHistogram histogram;
    for (int value = 1; value <= 1000; ++value) histogram.add(nanoseconds(value * 1000));
    EXPECT_EQ(1000U, histogram.count());
    EXPECT_NEAR(500'000.0, static_cast<double>(histogram.quantile(0.5).count()), 500.0);
    EXPECT_NEAR(990'000.0, static_cast<double>(histogram.quantile(0.99).count()), 1'000.0);
}

TEST(LatencyHistogram, CountsUpToAValue) {
    LatencyHistogram histogram;
    for (int value = 1; value <= 1000; ++value) histogram.add(nanoseconds(value * 1000));
    EXPECT_EQ(0U, histogram.count_up_to(nanoseconds(500)));
    EXPECT_NEAR(200.0, static_cast<double>(histogram.count_up_to(nanoseconds(200'000))), 1.0);
    EXPECT_EQ(1000U, histogram.count_up_to(std::chrono::seconds(1)));
}

TEST(LatencyHistogram, AddsUp) {
    LatencyHistogram one, other;
    one.add(nanoseconds(10));
    other.add(nanoseconds(20));
    other.add(nanoseconds(30));
    one.add(other);
    EXPECT_EQ(3U, one.count());
    EXPECT_EQ(20, one.quantile(0.6).count());
    EXPECT_EQ(2U, other.count());
}

TEST(LatencyHistogram, TakesWhatLiesOutside) {
    LatencyHistogram histogram;
    EXPECT_EQ(0, histogram.quantile(0.5).count());
    histogram.add(nanoseconds(-1));
    EXPECT_EQ(0, histogram.quantile(1).count());
    histogram.add(nanoseconds::max());
    EXPECT_EQ(nanoseconds::max(), histogram.quantile(1));
    EXPECT_EQ(1U, histogram.count_up_to(std::chrono::seconds(1)));
}

}  // namespace

}  // namespace holdfast::base
