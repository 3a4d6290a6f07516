#include "holdfast/lock_scope.h"

#include <gtest/gtest.h>

#include "holdfast/lock.h"
#include "holdfast/lock_error.h"

namespace holdfast {
namespace {

TEST(LockScope, HasATextFormThatReadsBack) {
    const std::pair<LockScope, std::string> forms[] = {
        {LockScope::Named{"nightly"}, "named:nightly"},
        {LockScope::Path{"/a/b"}, "path:/a/b"},
        {LockScope::Inode{7}, "inode:7"},
        {LockScope::ByteRange{.inode = 7, .start = 0, .end = 4096}, "range:7:0-4096"},
        {LockScope::ByteRange{.inode = 7, .start = 4096}, "range:7:4096-"},
    };
    for (const auto& [scope, text] : forms) {
        EXPECT_EQ(scope.to_text(), text);
        EXPECT_EQ(LockScope::parse(text), scope) << text;
    }
}

TEST(LockScope, ReadsNothingElse) {
    for (const char* text : {"", "named", "named:", "inode:x", "range:7:9-9", "range:7:9-8",
                             "semaphore:pool", "file:7", "inode:7 "}) {
        EXPECT_EQ(LockScope::parse(text), std::nullopt) << text;
    }
}

TEST(LockScope, AnInodeCoversItsRangesAndARangeThoseWithinIt) {
    const LockScope inode = LockScope::Inode{7};
    const LockScope range = LockScope::ByteRange{.inode = 7, .start = 100, .end = 200};
    EXPECT_TRUE(inode.covers(inode));
    EXPECT_TRUE(inode.covers(range));
    EXPECT_FALSE(range.covers(inode));
    EXPECT_TRUE(range.covers(range));
    EXPECT_TRUE(range.covers(LockScope::ByteRange{.inode = 7, .start = 150, .end = 200}));
    EXPECT_FALSE(range.covers(LockScope::ByteRange{.inode = 7, .start = 150, .end = 201}));
    EXPECT_FALSE(range.covers(LockScope::ByteRange{.inode = 7, .start = 150}));
    EXPECT_FALSE(range.covers(LockScope::ByteRange{.inode = 8, .start = 150, .end = 160}));
    EXPECT_FALSE(inode.covers(LockScope::Inode{8}));
    EXPECT_FALSE(inode.covers(LockScope::Named{"7"}));
    EXPECT_FALSE(LockScope(LockScope::Path{"/a"}).covers(LockScope::Named{"/a"}));
    EXPECT_FALSE(LockScope(LockScope::Path{"/a"}).covers(LockScope::Path{"/a/b"}));
}

TEST(LockToken, HasATextFormThatReadsBackAndSortsByAge) {
    const LockToken older{255, UINT64_MAX};
    const LockToken newer{4096, 1};
    EXPECT_EQ(older.to_text(), "00000000000000ffffffffffffffffff");
    EXPECT_EQ(LockToken::parse(older.to_text()), older);
    EXPECT_LT(older, newer);
    EXPECT_LT(older.to_text(), newer.to_text());
    for (const char* text :
         {"", "ff", "00000000000000ffffffffffffffffffa", "00000000000000FFffffffffffffffff",
          "00000000000000ff-fffffffffffffff"}) {
        EXPECT_EQ(LockToken::parse(text), std::nullopt) << text;
    }
}

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
    EXPECT_EQ(to_text(LockHeld{.scope = range}), range.to_text() + " was not to be had in time");
    EXPECT_EQ(to_text(ServerUnavailable{.message = "no answer"}), "no answer");
    EXPECT_EQ(to_text(NotPermitted{.message = "no token"}), "no token");
    EXPECT_EQ(to_text(StaleFence{.resource = "bucket", .fencing_token = 3, .highest = 4}),
              "bucket was used under fencing token 4, which is larger than 3");
}

}  // namespace
}  // namespace holdfast
