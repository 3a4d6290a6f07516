#include "holdfast/lock_error.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(LockError, IsASentence) {
    const std::chrono::system_clock::time_point noon =
        std::chrono::sys_days{std::chrono::January / 15 / 2024} + std::chrono::hours{12};
    const LockScope range = LockScope::ByteRange{.inode = 7, .start = 0, .end = 10};
    EXPECT_EQ(to_text(LockHeld{.scope = range, .holder = "w", .expires_at = noon}),
              "range:7:0-10 is held by w until 2024-01-15T12:00:00.000Z");
    EXPECT_EQ(to_text(LockNotFound{}), "there is no such lock");
    EXPECT_EQ(to_text(LockExpired{}), "the lock is over");
    EXPECT_EQ(to_text(LockScopeMismatch{
                  .held = range, .held_mode = LockMode::shared, .wanted = LockScope::Inode{7}}),
              "a lock on shared range:7:0-10 is not enough for inode:7");
    EXPECT_EQ(to_text(LockNotGuaranteed{}),
              "the lock may be over: no renewal was confirmed in time");
    EXPECT_EQ(to_text(LockNotGuaranteed{"disk full"}),
              "the lock may be over: no renewal was confirmed in time (disk full)");
    EXPECT_EQ(to_text(LockCancelled{}), "the request was cancelled");
    EXPECT_EQ(to_text(LockStoreFailure{.message = "disk full"}), "disk full");
    EXPECT_EQ(to_text(LockHeld{.scope = range}), range.to_text() + " was not granted in time");
    EXPECT_EQ(to_text(ServerUnavailable{.message = "no answer"}), "no answer");
    EXPECT_EQ(to_text(NotPermitted{.message = "no token"}), "no token");
    EXPECT_EQ(to_text(StaleFence{.resource = "bucket", .fencing_token = 3, .highest = 4}),
              "bucket was used under fencing token 4, which is larger than 3");
}

}  // namespace
}  // namespace holdfast
