#include "files/tree/path_gates.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace holdfast::files
