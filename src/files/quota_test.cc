#include "files/quota.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace holdfast::files {
namespace {

TEST(Quota, CountsWhatIsUsedAndWhatIsOnItsWay) {
    Quota quota(100, 40);
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
    Quota quota(100, 100);
    quota.settle({.old_bytes = 60, .new_bytes = 10});
    EXPECT_EQ(quota.used_bytes(), 50U);
    quota.settle({.old_bytes = 80});  // grown by other means
    EXPECT_EQ(quota.used_bytes(), 0U);
}

TEST(Quota, OfZeroIsNone) {
    Quota quota(0, 0);
    EXPECT_TRUE(quota.reserve(std::uint64_t{1} << 60));
}

TEST(Quota, TakesNothingMoreOnceItIsPassed) {
    Quota quota(100, 150);
    EXPECT_TRUE(quota.reserve(0));
    EXPECT_FALSE(quota.reserve(1));
    EXPECT_FALSE(quota.reserve(UINT64_MAX - 10));
}

TEST(Quota, IsNotPassedByManyTogether) {
    Quota quota(1'000, 0);
    std::atomic<int> granted = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            for (int j = 0; j < 100; ++j) granted += quota.reserve(7) ? 1 : 0;
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(granted, 1'000 / 7);
}

}  // namespace
}  // namespace holdfast::files
