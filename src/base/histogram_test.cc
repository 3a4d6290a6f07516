#include "base/histogram.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace holdfast::base
