#include "files/tree/tree_state.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "files/tree/test_tree.h"

namespace holdfast::files {
namespace {

TEST(PathGates, LetOneInAtATime) {
    PathGates gates;
    int counter = 0;  // not atomic: the gate is what protects it
    testing::run_together(8, [&](int) {
        for (int j = 0; j < 1'000; ++j) {
            const auto pass = gates.enter("/a");
            ++counter;
        }
    });
    EXPECT_EQ(counter, 8'000);
}

TEST(PathGates, AreForgottenWhenNobodyIsThere) {
    PathGates gates;
    {
        const auto a = gates.enter("/a");
        auto b = gates.enter("/b");  // another path, another gate
        const auto moved = std::move(b);
        EXPECT_EQ(gates.size(), 2U);
    }
    EXPECT_EQ(gates.size(), 0U);
}

TEST(PathGates, StandManyPathsComingAndGoing) {
    PathGates gates;
    std::vector<int> counters(50);
    testing::run_together(4, [&](int) {
        for (std::size_t j = 0; j < 5'000; ++j) {
            const auto pass = gates.enter(std::to_string(j % 50));
            ++counters[j % 50];
        }
    });
    for (const int counter : counters) EXPECT_EQ(counter, 400);
    EXPECT_EQ(gates.size(), 0U);
}

TEST(Quota, CountsWhatIsUsedAndWhatIsOnItsWay) {
    Quota quota({.limit_bytes = 100, .used_bytes = 40});
    EXPECT_TRUE(quota.reserve(50));
    EXPECT_FALSE(quota.reserve(11));
    EXPECT_TRUE(quota.reserve(10));
    EXPECT_FALSE(quota.reserve(1));
    quota.release(10);
    quota.apply({.reserved_bytes = 50, .old_bytes = 0, .new_bytes = 30});
    EXPECT_EQ(quota.used_bytes(), 70U);
    EXPECT_TRUE(quota.reserve(30));
    EXPECT_FALSE(quota.reserve(1));
}

TEST(Quota, GivesBackWhatAFileLoses) {
    Quota quota({.limit_bytes = 100, .used_bytes = 100});
    quota.apply({.old_bytes = 60, .new_bytes = 10});
    EXPECT_EQ(quota.used_bytes(), 50U);
    quota.apply({.old_bytes = 80});  // grown by other means
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
