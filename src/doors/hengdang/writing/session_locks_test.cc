#include "doors/hengdang/writing/session_locks.h"

#include <gtest/gtest.h>

namespace holdfast::doors::hengdang {
namespace {

const WriteHolds::Key key{.session = "s", .path = "/x"};
const core::Token token{.fence = core::Fence{7}, .secret = core::Secret{8}};

TEST(WriteHolds, AnAutomaticLockGoesWithItsWriteHoweverThatEnds) {
    for (const bool has_written : {false, true}) {
        WriteHolds holds;
        holds.enter(key);
        holds.set_lock(key, token, true);
        const auto ended = holds.leave(key, has_written);
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->token, token);
        EXPECT_TRUE(ended->is_automatic);
        EXPECT_EQ(holds.size(), 0U);
    }
}

TEST(WriteHolds, ALockTakenByHandGoesWithAWriteThatSucceeded) {
    WriteHolds holds;
    holds.enter(key);
    holds.set_lock(key, token, false);
    EXPECT_FALSE(holds.leave(key, false));
    holds.enter(key);
    holds.set_lock(key, token, false);
    const auto ended = holds.leave(key, true);
    ASSERT_TRUE(ended);
    EXPECT_FALSE(ended->is_automatic);
}

TEST(WriteHolds, TheLastOfSeveralWritesGivesTheLockBack) {
    WriteHolds holds;
    holds.enter(key);
    holds.enter(key);
    holds.set_lock(key, token, true);
    EXPECT_FALSE(holds.leave(key, true)) << "the other one may be about to be told of it";
    holds.set_lock(key, token, false);
    EXPECT_TRUE(holds.leave(key, false));
    EXPECT_EQ(holds.size(), 0U);
}

TEST(WriteHolds, ALockThatIsAskedForDuringAWriteStaysIfThatFails) {
    WriteHolds holds;
    holds.enter(key);
    holds.set_lock(key, token, true);
    holds.keep(key);
    EXPECT_FALSE(holds.leave(key, false));
}

TEST(WriteHolds, AWriteThatWasRefusedLeavesNothing) {
    WriteHolds holds;
    holds.enter(key);
    EXPECT_FALSE(holds.leave(key, false));
    EXPECT_EQ(holds.size(), 0U);
    holds.keep(key);
    EXPECT_EQ(holds.size(), 0U);
}

TEST(WriteHolds, SessionsAndPathsAreKeptApart) {
    WriteHolds holds;
    const WriteHolds::Key other{.session = "s", .path = "/y"};
    holds.enter(key);
    holds.enter(other);
    holds.set_lock(key, token, true);
    EXPECT_FALSE(holds.leave(other, true));
    EXPECT_TRUE(holds.leave(key, true));
}

}  // namespace
}  // namespace holdfast::doors::hengdang
