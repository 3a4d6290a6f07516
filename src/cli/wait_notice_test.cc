#include "cli/wait_notice.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

const AwaitedLock awaited{.server = {}, .locks = {"nightly"}, .owner = "me", .wait = 1min};

TEST(WaitNotice, SaysWhoHoldsTheLockAndWhichPlaceOneHas) {
    LockRow lock{.name = "nightly", .waiter_count = 3};
    lock.holders.push_back({.owner = "w1"});
    EXPECT_EQ(describe_wait(lock, "nightly", awaited, 3s),
              "waiting for nightly: held by w1; giving up in 57.0s");
    lock.waiters = {{.owner = "w2"}, {.owner = "me"}, {.owner = "w3"}};
    lock.holders.front().acquired_ms = 1'705'314'600'000;
    lock.holders.push_back({.owner = "w4"});
    EXPECT_EQ(describe_wait(lock, "nightly", awaited, 2min),
              "waiting for nightly: held by w1 and 1 more since 2024-01-15T10:30:00.000Z, place 2 "
              "of 3 in the queue; giving up in 0.0s");
}

TEST(WaitNotice, AWaitWithoutAnEndHasNoTimeLeft) {
    LockRow lock{.name = "nightly"};
    lock.holders.push_back({.owner = "w1"});
    AwaitedLock for_ever = awaited;
    for_ever.wait = std::chrono::hours{24 * 366};
    EXPECT_EQ(describe_wait(lock, "nightly", for_ever, 3s), "waiting for nightly: held by w1");
    EXPECT_EQ(describe_wait({.name = "nightly"}, "nightly", awaited, 3s), "")
        << "it is about to be granted";
}

}  // namespace
}  // namespace holdfast::cli
