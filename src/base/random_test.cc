#include "base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace holdfast::base {
namespace {

TEST(RandomBits, NeverRepeatsItself) {
    RandomBits random;
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(random()).second);
}

TEST(RandomBits, UsesEveryBit) {
    RandomBits random;
    std::uint64_t ever_set = 0;
    std::uint64_t ever_clear = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t word = random();
        ever_set |= word;
        ever_clear |= ~word;
    }
    EXPECT_EQ(ever_set, UINT64_MAX);
    EXPECT_EQ(ever_clear, UINT64_MAX);
}

TEST(RandomBits, GivesNothingTwiceWhenItIsCopied) {
    RandomBits first;
    std::set<std::uint64_t> seen{first()};
    RandomBits second = first;  // with what is left of the page: the first must not be used again
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(second()).second);
}

}  // namespace
}  // namespace holdfast::base
