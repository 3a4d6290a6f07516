// The seeds that every run of the tests tries, and what must hold of any seed.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sim/clients/client.h"
#include "sim/simulation.h"

namespace holdfast::sim {
namespace {

constexpr std::size_t tail_lines = 40;

// The seeds of a shard. What a seed does never depends on how many there are.
void run_shard(Kind kind, std::uint64_t shard, std::uint64_t seeds) {
    const std::uint64_t first = 1 + shard * seeds;
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
        Simulation simulation(kind, seed, tail_lines);
        const LastWords last_words(simulation, seed);
        const Result result = simulation.run();
        ASSERT_FALSE(result.violation) << to_report(result, simulation);
    }
}

class Worlds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Worlds, KeepTheirPromises) {
    run_shard(Kind::single_server, GetParam(), HOLDFAST_SIM_SEEDS);
}

INSTANTIATE_TEST_SUITE_P(Shard, Worlds, ::testing::Range(std::uint64_t{0}, std::uint64_t{8}));

class ClusterWorlds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ClusterWorlds, KeepTheirPromises) {
    run_shard(Kind::cluster, GetParam(), HOLDFAST_SIM_CLUSTER_SEEDS);
}

INSTANTIATE_TEST_SUITE_P(Shard, ClusterWorlds,
                         ::testing::Range(std::uint64_t{0}, std::uint64_t{8}));

TEST(World, IsTheSameWheneverItIsRun) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Result first = simulate(Kind::single_server, seed),
                     second = simulate(Kind::single_server, seed);
        EXPECT_EQ(first.hash, second.hash) << "seed " << seed;
        EXPECT_EQ(first.steps, second.steps) << "seed " << seed;
    }
}

TEST(ClusterWorld, IsTheSameWheneverItIsRun) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const Result first = simulate(Kind::cluster, seed), second = simulate(Kind::cluster, seed);
        EXPECT_EQ(first.hash, second.hash) << "seed " << seed;
        EXPECT_EQ(first.steps, second.steps) << "seed " << seed;
    }
}

// Without changes of leader and without relays there would be nothing to find.
TEST(ClusterWorld, IsBusyOnTheAverage) {
    constexpr std::uint64_t worlds = 20;
    std::size_t grants = 0, writes = 0, elections = 0, restored = 0;
    for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
        Simulation simulation(Kind::cluster, seed, SIZE_MAX);
        (void)simulation.run();
        for (const std::string& line : simulation.history()) {
            grants += line.find("is answered: granted") != std::string::npos ? 1 : 0;
            writes += line.find(": writes ") != std::string::npos ? 1 : 0;
            elections += line.find(": leading, sees ") != std::string::npos ? 1 : 0;
            restored += line.find(" restored ") != std::string::npos ? 1 : 0;
        }
    }
    EXPECT_GT(grants, 10 * worlds);
    EXPECT_GT(writes, 10 * worlds);
    EXPECT_GT(elections, 3 * worlds);
    EXPECT_GT(restored, worlds);
}

// A fault that no world has would find nothing.
TEST(ClusterWorld, SeesEveryRareFault) {
    constexpr std::uint64_t worlds = 60;
    std::map<std::string_view, std::size_t> seen = {
        {"which lives", 0},
        {"does not get its answer", 0},
        {"is stopped while it takes over", 0},
        {"etcd: is full", 0},
    };
    for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
        Simulation simulation(Kind::cluster, seed, SIZE_MAX);
        (void)simulation.run();
        for (const std::string& line : simulation.history()) {
            for (auto& [words, count] : seen) {
                count += line.find(words) != std::string::npos ? 1 : 0;
            }
        }
    }
    for (const auto& [words, count] : seen) EXPECT_GT(count, 10U) << words;
}

TEST(World, IsAnotherForAnotherSeed) {
    EXPECT_NE(simulate(Kind::single_server, 1).hash, simulate(Kind::single_server, 2).hash);
}

// Worlds in which nothing happens would keep all their promises.
TEST(World, IsBusyOnTheAverage) {
    constexpr std::uint64_t worlds = 20;
    std::size_t steps = 0, grants = 0, writes = 0, transient = 0;
    for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
        Simulation simulation(Kind::single_server, seed, SIZE_MAX);
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

using namespace std::chrono_literals;

constexpr Moment end = Moment::max();

TEST(World, LetsThingsHappenInTheOrderOfTheirTime) {
    World world(1, 10);
    std::string order;
    world.after(2s, [&] { order += "2"; });
    world.after(1s, [&] {
        order += "1";
        world.after(500ms, [&] { order += "+"; });
    });
    while (world.step(end)) {
    }
    EXPECT_EQ(order, "1+2");
    EXPECT_EQ(world.now(), Moment{2s});
}

TEST(World, LeavesTheOrderWithinAMomentToTheSeed) {
    std::string orders;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        World world(seed, 10);
        world.after(1s, [&] { orders += "a"; });
        world.after(1s, [&] { orders += "b"; });
        while (world.step(end)) {
        }
    }
    EXPECT_NE(orders.find("abab"), std::string::npos);
    EXPECT_NE(orders.find("baba"), std::string::npos);
}

TEST(World, PutsWhatIsNextBeforeEverythingElse) {
    World world(1, 10);
    std::string order;
    for (int index = 0; index < 5; ++index) world.after(0s, [&] { order += "a"; });
    world.next([&] { order += "b"; });
    while (world.step(end)) {
    }
    EXPECT_EQ(order, "baaaaa");
}

TEST(World, StopsBeforeTheEnd) {
    World world(1, 10);
    world.after(2s, [] {});
    EXPECT_FALSE(world.step(Moment{1s}));
    EXPECT_TRUE(world.step(Moment{2s}));
}

TEST(World, RemembersTheFirstViolation) {
    World world(1, 10);
    world.accuse(4, "first");
    world.accuse(5, "second");
    ASSERT_TRUE(world.violation());
    EXPECT_EQ(world.violation()->invariant, 4);
    EXPECT_EQ(world.history().lines().size(), 2U);
}

using core::Fence;

TEST(FencedResource, RefusesWhoComesAfterALargerNumber) {
    FencedResource resource;
    EXPECT_EQ(resource.read(Fence{1}), 0U);
    EXPECT_EQ(resource.read(Fence{2}), 0U);
    EXPECT_FALSE(resource.write(Fence{1}, 1));
    EXPECT_EQ(resource.read(Fence{1}), std::nullopt);
    EXPECT_TRUE(resource.write(Fence{2}, 1));
    EXPECT_EQ(resource.lost_updates(), 0U);
}

TEST(FencedResource, CountsALostUpdateWhenTwoHaveTheSameNumber) {
    FencedResource resource;
    const auto first = resource.read(Fence{1}), second = resource.read(Fence{1});
    EXPECT_TRUE(resource.write(Fence{1}, *first + 1));
    EXPECT_TRUE(resource.write(Fence{1}, *second + 1));
    EXPECT_EQ(resource.lost_updates(), 1U);
}

}  // namespace
}  // namespace holdfast::sim
