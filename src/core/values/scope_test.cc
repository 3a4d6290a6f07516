#include "core/values/scope.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace holdfast::core {
namespace {

TEST(Scope, IsWrittenAndReadTheSame) {
    for (const std::string_view text : {"x",
                                        "with:colons and spaces",
                                        "/srv/photos",
                                        "named",
                                        "Named:x",
                                        "lock:x",
                                        ":",
                                        " named:x",
                                        "named:path:/a",
                                        "named:named:x",
                                        "semaphore:printers",
                                        "path:/a/b",
                                        "path:relative",
                                        "inode:7",
                                        "inode:0",
                                        "inode:18446744073709551615",
                                        "range:7:0-4096",
                                        "range:7:4096-",
                                        "range:0:0-1",
                                        "range:18446744073709551615:5-18446744073709551614"}) {
        const auto scope = parse_scope(text);
        ASSERT_TRUE(scope) << text;
        EXPECT_EQ(to_text(*scope), text);
    }
}

TEST(Scope, IsReadIntoItsParts) {
    EXPECT_EQ(parse_scope("x"), Scope::named("x"));
    EXPECT_EQ(parse_scope("named:x"), Scope::named("x"));
    EXPECT_EQ(parse_scope("named:path:/a"), Scope::named("path:/a"));
    EXPECT_EQ(parse_scope("semaphore:x"), Scope::semaphore("x"));
    EXPECT_EQ(parse_scope("path:/a/b"), Scope::path("/a/b"));
    EXPECT_EQ(parse_scope("inode:7"), Scope::of_inode(7));
    EXPECT_EQ(parse_scope("range:7:0-4096"), Scope::of_range(7, {0, 4096}));
    EXPECT_EQ(parse_scope("range:7:4096-"), Scope::of_range(7, {4096, Range::end_of_file}));
}

TEST(Scope, IsNotReadFromAnythingElse) {
    for (const std::string_view text : {"",
                                        "named:",
                                        "semaphore:",
                                        "path:",
                                        "inode:",
                                        "inode:-1",
                                        "inode:+1",
                                        "inode:x",
                                        "inode:7 ",
                                        "inode: 7",
                                        "inode:7:0-1",
                                        "inode:18446744073709551616",
                                        "range:",
                                        "range:7",
                                        "range:7:",
                                        "range:7:-",
                                        "range:7:0",
                                        "range:7:-5",
                                        "range:7:5-5",
                                        "range:7:6-5",
                                        "range:7:0-0",
                                        "range::0-1",
                                        "range:x:0-1",
                                        "range:7:a-b",
                                        "range:7:0-1-2",
                                        "range:7:0-1 ",
                                        "range:7:0x0-1",
                                        "range:7:1.5-2",
                                        "range:7:0-18446744073709551616",
                                        "range:-7:0-1",
                                        "range:7:18446744073709551615-"}) {
        EXPECT_FALSE(parse_scope(text)) << text;
    }
}

TEST(Scope, CutAtEveryByteIsNeverReadAsTheWhole) {
    const std::string_view whole = "range:17:1024-4096";
    const auto scope = parse_scope(whole);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        EXPECT_NE(parse_scope(whole.substr(0, length)), scope) << length;
    }
}

TEST(Scope, CoversItselfAndWhatIsInsideIt) {
    const Scope all = Scope::of_inode(7), half = Scope::of_range(7, {0, 4096});
    EXPECT_TRUE(all.covers(all));
    EXPECT_TRUE(all.covers(half));
    EXPECT_TRUE(half.covers(half));
    EXPECT_TRUE(half.covers(Scope::of_range(7, {1, 4095})));
    EXPECT_TRUE(Scope::of_range(7, {0, Range::end_of_file}).covers(all));
    EXPECT_TRUE(Scope::named("x").covers(Scope::named("x")));
    EXPECT_TRUE(Scope::path("/a").covers(Scope::path("/a")));
}

TEST(Scope, CoversNothingElse) {
    const Scope half = Scope::of_range(7, {0, 4096});
    EXPECT_FALSE(half.covers(Scope::of_inode(7)));
    EXPECT_FALSE(half.covers(Scope::of_range(7, {0, 4097})));
    EXPECT_FALSE(half.covers(Scope::of_range(7, {4096, 4097})));
    EXPECT_FALSE(half.covers(Scope::of_range(8, {0, 4096})));
    EXPECT_FALSE(Scope::of_inode(7).covers(Scope::of_inode(8)));
    EXPECT_FALSE(Scope::named("x").covers(Scope::named("y")));
    EXPECT_FALSE(Scope::named("x").covers(Scope::path("x")));
    EXPECT_FALSE(Scope::named("x").covers(Scope::semaphore("x")));
    EXPECT_FALSE(Scope::path("/a").covers(Scope::path("/a/b")));
    EXPECT_FALSE(Scope::named("7").covers(Scope::of_inode(7)));
    EXPECT_FALSE(Scope::of_inode(7).covers(Scope::named("7")));
}

TEST(Range, OverlapsWhenAByteIsInBoth) {
    const Range middle{100, 200};
    EXPECT_TRUE(middle.overlaps({199, 300}));
    EXPECT_TRUE(middle.overlaps({0, 101}));
    EXPECT_TRUE(middle.overlaps({150, 151}));
    EXPECT_TRUE(middle.overlaps({0, Range::end_of_file}));
    EXPECT_FALSE(middle.overlaps({200, 300}));
    EXPECT_FALSE(middle.overlaps({0, 100}));
}

TEST(Mode, ConflictsUnlessBothAreShared) {
    EXPECT_FALSE(conflicts(Mode::shared, Mode::shared));
    EXPECT_TRUE(conflicts(Mode::shared, Mode::exclusive));
    EXPECT_TRUE(conflicts(Mode::exclusive, Mode::shared));
    EXPECT_TRUE(conflicts(Mode::exclusive, Mode::exclusive));
}

}  // namespace
}  // namespace holdfast::core
