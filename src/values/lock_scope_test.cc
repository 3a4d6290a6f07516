#include "holdfast/lock_scope.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(LockScope, HasATextFormThatReadsBack) {
    const std::pair<LockScope, std::string> forms[] = {
        {LockScope::Named{"nightly"}, "nightly"},
        {LockScope::Named{"inode:7"}, "named:inode:7"},
        {LockScope::Semaphore{"printers"}, "semaphore:printers"},
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

TEST(LockScope, ReadsNothingOfAKindWithSomethingThatItCannotHave) {
    for (const char* text :
         {"", "named:", "inode:x", "inode:7 ", "range:7:9-9", "range:7:9-8", "semaphore:"}) {
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

}  // namespace
}  // namespace holdfast
