#include "rights/pattern.h"

#include <gmock/gmock.h>

namespace holdfast::rights {
namespace {

using core::Scope;
using ::testing::HasSubstr;
using ::testing::Not;

bool covers(const char* pattern, const Scope& scope) {
    return Pattern::parse(pattern).value().covers(scope);
}

TEST(Pattern, OfANameIsForTheLockAndTheSemaphoreOfThatName) {
    EXPECT_TRUE(covers("nightly", Scope::named("nightly")));
    EXPECT_TRUE(covers("nightly", Scope::semaphore("nightly")));
    EXPECT_FALSE(covers("nightly", Scope::named("nightly2")));
    EXPECT_FALSE(covers("nightly", Scope::named("nightl")));
    EXPECT_FALSE(covers("nightly", Scope::path("nightly")));
    EXPECT_FALSE(covers("7", Scope::of_inode(7)));
}

TEST(Pattern, WithAStarIsForWhatBeginsSo) {
    for (const char* name : {"deploy/", "deploy/web", "deploy/web/a"}) {
        EXPECT_TRUE(covers("deploy/*", Scope::named(name))) << name;
        EXPECT_TRUE(covers("deploy/*", Scope::semaphore(name))) << name;
        EXPECT_FALSE(covers("deploy/*", Scope::path(name))) << name;
    }
    for (const char* name : {"", "deploy", "Deploy/x", "x/deploy/"}) {
        EXPECT_FALSE(covers("deploy/*", Scope::named(name))) << name;
    }
}

TEST(Pattern, OfAStarIsForEverything) {
    for (const Scope& scope : {Scope::named("x"), Scope::semaphore("x"), Scope::path("/x"),
                               Scope::of_inode(7), Scope::of_range(7, {1, 2})}) {
        EXPECT_TRUE(covers("*", scope)) << core::to_text(scope);
    }
    EXPECT_TRUE(Pattern::parse("*")->is_everything());
    EXPECT_FALSE(Pattern::parse("named:*")->is_everything());
    EXPECT_FALSE(covers("named:*", Scope::path("/x"))) << "all names, and nothing else";
    EXPECT_TRUE(covers("named:*", Scope::semaphore("x")));
}

TEST(Pattern, HasTheKindOfAScope) {
    EXPECT_TRUE(covers("path:/srv/*", Scope::path("/srv/a")));
    EXPECT_FALSE(covers("path:/srv/*", Scope::path("/srv")));
    EXPECT_FALSE(covers("path:/srv/*", Scope::named("/srv/a")));
    EXPECT_TRUE(covers("path:*", Scope::path("/etc")));
    EXPECT_TRUE(covers("semaphore:pool*", Scope::semaphore("pool1")));
    EXPECT_FALSE(covers("semaphore:pool*", Scope::named("pool1")));
    EXPECT_TRUE(covers("named:path:/a", Scope::named("path:/a")))
        << "a name that looks like a path";
    EXPECT_FALSE(covers("named:path:/a", Scope::path("/a")));
    EXPECT_TRUE(covers("name:x", Scope::named("name:x"))) << "`name` is no kind";
}

TEST(Pattern, OfAnInodeIsForItsRangesToo) {
    EXPECT_TRUE(covers("inode:7", Scope::of_inode(7)));
    EXPECT_TRUE(covers("inode:7", Scope::of_range(7, {0, 5})));
    EXPECT_FALSE(covers("inode:7", Scope::of_inode(8)));
    EXPECT_FALSE(covers("inode:7", Scope::named("7")));
    EXPECT_TRUE(covers("inode:*", Scope::of_range(9, {0, 5})));
    EXPECT_FALSE(covers("inode:*", Scope::path("/9")));
}

TEST(Pattern, OfARangeIsForTheRangesInIt) {
    EXPECT_TRUE(covers("range:7:0-4096", Scope::of_range(7, {0, 4096})));
    EXPECT_TRUE(covers("range:7:0-4096", Scope::of_range(7, {10, 20})));
    EXPECT_FALSE(covers("range:7:0-4096", Scope::of_range(7, {10, 4097})));
    EXPECT_FALSE(covers("range:7:0-4096", Scope::of_range(8, {10, 20})));
    EXPECT_FALSE(covers("range:7:0-4096", Scope::of_inode(7)));
    EXPECT_TRUE(covers("range:7:0-", Scope::of_inode(7))) << "all its bytes";
}

TEST(Pattern, MayHaveAnyByteInHexadecimalDigits) {
    EXPECT_TRUE(covers("two%20words", Scope::named("two words")));
    EXPECT_TRUE(covers("what%2a", Scope::named("what*"))) << "no star of ours";
    EXPECT_FALSE(covers("what%2A", Scope::named("whatever")));
    EXPECT_TRUE(covers("%2A*", Scope::named("*x")));
    EXPECT_TRUE(covers("100%25", Scope::named("100%")));
    EXPECT_TRUE(covers("%23a", Scope::named("#a")));
    EXPECT_TRUE(covers("path%3A/a", Scope::named("path:/a"))) << "the kind is not encoded";
    EXPECT_TRUE(covers("%FF", Scope::named("\xff")));
}

TEST(Pattern, ThatIsWrongIsNotRepeated) {
    for (const char* text : {"s3cret*s3cret", "**", "s3cret%", "s3cret%4", "s3cret%zz", "path:", "",
                             "named:", "inode:s3cret", "inode:7*", "inode:", "range:7:5-5",
                             "range:7:*", "range:*", "semaphore:a*b"}) {
        const auto pattern = Pattern::parse(text);
        ASSERT_FALSE(pattern) << text;
        EXPECT_THAT(pattern.error().message, Not(HasSubstr("s3cret"))) << text;
    }
}

TEST(Pattern, ReachesBelowTheDirectoriesOnItsWay) {
    const auto reaches = [](const char* pattern, const char* beginning) {
        return Pattern::parse(pattern)->reaches_path_below(beginning);
    };
    EXPECT_TRUE(reaches("path:/srv/www/*", "/"));
    EXPECT_TRUE(reaches("path:/srv/www/*", "/srv/"));
    EXPECT_TRUE(reaches("path:/srv/www/*", "/srv/www/"));
    EXPECT_TRUE(reaches("path:/srv/www/*", "/srv/www/deep/"));
    EXPECT_FALSE(reaches("path:/srv/www/*", "/srv/mail/"));
    EXPECT_FALSE(reaches("path:/srv/www/*", "/s/"));
    EXPECT_TRUE(reaches("path:/srv/a", "/srv/"));
    EXPECT_FALSE(reaches("path:/srv/a", "/srv/a/"));
    EXPECT_TRUE(reaches("path:/srv/w*", "/srv/www/"));
    EXPECT_TRUE(reaches("*", "/anything/"));
    EXPECT_FALSE(reaches("srv/*", "/srv/")) << "a name";
}

}  // namespace
}  // namespace holdfast::rights
