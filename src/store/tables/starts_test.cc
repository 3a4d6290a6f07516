#include "store/tables/starts.h"

#include <gtest/gtest.h>

namespace holdfast::store {
namespace {

using namespace std::chrono_literals;

Start start(std::int64_t number, std::string boot, core::Duration since_boot) {
    return {.number = number, .at = {.boot = std::move(boot), .since_boot = since_boot}};
}

TEST(LeaseAges, ALeaseOfTheRunBeforeHasItsWholeTime) {
    const LeaseAges ages({start(1, "a", 10s), start(2, "a", 500s)});
    EXPECT_EQ(ages.remaining(1, 30s), 30s);
}

TEST(LeaseAges, LaterStartsGiveNoMoreTime) {
    const LeaseAges ages(
        {start(1, "a", 10s), start(2, "a", 50s), start(3, "a", 60s), start(4, "a", 65s)});
    EXPECT_EQ(ages.remaining(1, 30s), 15s);
    EXPECT_EQ(ages.remaining(2, 30s), 25s);
    EXPECT_EQ(ages.remaining(3, 30s), 30s);
    EXPECT_EQ(ages.remaining(1, 15s), 0s);
    EXPECT_EQ(ages.remaining(1, 14s), 0s);
}

TEST(LeaseAges, AfterARestartOfTheMachineTimeBeginsAnew) {
    const LeaseAges ages(
        {start(1, "a", 10s), start(2, "a", 9000s), start(3, "b", 5s), start(4, "b", 12s)});
    EXPECT_EQ(ages.remaining(1, 30s), 23s);
    EXPECT_EQ(ages.remaining(2, 30s), 23s);
    EXPECT_EQ(ages.remaining(3, 30s), 30s);
}

TEST(LeaseAges, ButNotForEver) {
    std::vector<Start> starts{start(1, "first", 0s)};
    for (int boot = 1; boot <= 10; ++boot) {
        starts.push_back(start(boot + 1, "boot" + std::to_string(boot), 1s));
        EXPECT_EQ(LeaseAges(starts).remaining(1, 30s), 30s) << boot;
    }
    starts.push_back(start(12, "boot11", 1s));
    EXPECT_EQ(LeaseAges(starts).remaining(1, 30s), 0s);
    EXPECT_EQ(LeaseAges(starts).remaining(2, 30s), 30s);
}

}  // namespace
}  // namespace holdfast::store
