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

TEST(LatencyHistogram, KnowsASingleValueToThreePercent) {
    for (std::int64_t value = 1; value < (std::int64_t{1} << 40); value = value * 5 / 4 + 1) {
        LatencyHistogram histogram;
        histogram.add(nanoseconds(value));
        const auto found = histogram.quantile(0.5).count();
        EXPECT_GE(found, value);
        EXPECT_LE(found, value + value / 32);
    }
}

TEST(LatencyHistogram, OrdersItsValues) {
    LatencyHistogram histogram;
    for (int value = 1; value <= 1000; ++value) histogram.add(nanoseconds(value * 1000));
    EXPECT_EQ(1000U, histogram.count());
    EXPECT_NEAR(500'000.0, static_cast<double>(histogram.quantile(0.5).count()), 16'000.0);
    EXPECT_NEAR(990'000.0, static_cast<double>(histogram.quantile(0.99).count()), 31'000.0);
}

TEST(LatencyHistogram, CountsUpToAValue) {
    LatencyHistogram histogram;
    for (int value = 1; value <= 1000; ++value) histogram.add(nanoseconds(value * 1000));
    EXPECT_EQ(0U, histogram.count_up_to(nanoseconds(500)));
    EXPECT_NEAR(200.0, static_cast<double>(histogram.count_up_to(nanoseconds(200'000))), 7.0);
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
    EXPECT_EQ((std::int64_t{1} << 40) - 1, histogram.quantile(1).count());
}

}  // namespace

}  // namespace holdfast::base
