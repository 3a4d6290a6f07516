// The seeds that every run of the tests tries, and what must hold of any seed.

#include <gtest/gtest.h>

#include <cstdint>

#include "sim/last_words.h"
#include "sim/simulation.h"

namespace holdfast::sim {
namespace {

constexpr std::size_t tail_lines = 40;

// HOLDFAST_SIM_SEEDS is how many seeds a shard has; what a seed does never depends on it.
class Worlds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Worlds, KeepTheirPromises) {
    const std::uint64_t first = 1 + GetParam() * HOLDFAST_SIM_SEEDS;
    for (std::uint64_t seed = first; seed < first + HOLDFAST_SIM_SEEDS; ++seed) {
        Simulation simulation(seed, tail_lines);
        const LastWords last_words(simulation, seed);
        const Result result = simulation.run();
        ASSERT_FALSE(result.violation) << to_report(result, simulation);
    }
}

INSTANTIATE_TEST_SUITE_P(Shard, Worlds, ::testing::Range(std::uint64_t{0}, std::uint64_t{8}));

TEST(World, IsTheSameWheneverItIsRun) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Result first = simulate(seed), second = simulate(seed);
        EXPECT_EQ(first.hash, second.hash) << "seed " << seed;
        EXPECT_EQ(first.steps, second.steps) << "seed " << seed;
    }
}

TEST(World, IsAnotherForAnotherSeed) {
    EXPECT_NE(simulate(1).hash, simulate(2).hash);
}

// Worlds in which nothing happens would keep all their promises.
TEST(World, IsBusyOnTheAverage) {
    constexpr std::uint64_t worlds = 20;
    std::size_t steps = 0, grants = 0, writes = 0, transient = 0;
    for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
        Simulation simulation(seed, SIZE_MAX);
        steps += simulation.run().steps;
        for (const std::string& line : simulation.history()) {
            grants += line.find("is answered: granted") != std::string::npos ? 1 : 0;
            writes += line.find(": writes ") != std::string::npos ? 1 : 0;
            transient += line.ends_with(", transient") ? 1 : 0;
        }
    }
    EXPECT_GT(steps, 300 * worlds);
    EXPECT_GT(grants, 10 * worlds);
    EXPECT_GT(writes, 10 * worlds);
    EXPECT_GT(transient, worlds);
}

}  // namespace
}  // namespace holdfast::sim
