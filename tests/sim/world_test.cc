#include "sim/world.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::sim {
namespace {

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

}  // namespace
}  // namespace holdfast::sim
