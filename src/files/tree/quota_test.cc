#include "files/tree/quota.h"

#include <gtest/gtest.h>

#include <atomic>

#include "files/tree/test_tree.h"

namespace holdfast::files {
namespace {

TEST(Quota, CountsWhatIsUsedAndWhatIsOnItsWay) {
    Quota quota({.limit_bytes = 100, .used_bytes = 40});
    EXPECT_TRUE(quota.reserve(50));
    EXPECT_FALSE(quota.reserve(11));
    EXPECT_TRUE(quota.reserve(10));
    EXPECT_FALSE(quota.reserve(1));
    quota.release(10);
    quota.settle({.reserved_bytes = 50, .old_bytes = 0, .new_bytes = 30});
    EXPECT_EQ(quota.used_bytes(), 70U);
    EXPECT_TRUE(quota.reserve(30));
    EXPECT_FALSE(quota.reserve(1));
}

TEST(Quota, GivesBackWhatAFileLoses) {
    Quota quota({.limit_bytes = 100, .used_bytes = 100});
    quota.settle({.old_bytes = 60, .new_bytes = 10});
    EXPECT_EQ(quota.used_bytes(), 50U);
    quota.settle({.old_bytes = 80});  // grown by other means
    EXPECT_EQ(quota.used_bytes(), 0U);
}

TEST(Quota, OfZeroIsNone) {
    Quota quota({.limit_bytes = 0, .used_bytes = 0});
    EXPECT_TRUE(quota.reserve(std::uint64_t{1} << 60));
}

TEST(Quota, TakesNothingMoreOnceItIsPassed) {
    Quota quota({.limit_bytes = 100, .used_bytes = 150});
    EXPECT_TRUE(quota.reserve(0));
    EXPECT_FALSE(quota.reserve(1));
    EXPECT_FALSE(quota.reserve(UINT64_MAX - 10));
}

TEST(Quota, IsNotPassedByManyTogether) {
    Quota quota({.limit_bytes = 1'000, .used_bytes = 0});
    std::atomic<int> granted = 0;
    testing::run_together(8, [&](int) {
        for (int j = 0; j < 100; ++j) granted += quota.reserve(7) ? 1 : 0;
    });
    EXPECT_EQ(granted, 1'000 / 7);
}

}  // namespace
}  // namespace holdfast::files
