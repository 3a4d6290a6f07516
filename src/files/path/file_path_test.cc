#include "files/path/file_path.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::files {
namespace {

using namespace std::string_literals;

std::string parsed(std::string_view text) {
    const auto path = FilePath::parse(text);
    return path ? path->text() : std::string(to_text(path.error()));
}

TEST(FilePath, TakesOrdinaryNames) {
    for (const char* text :
         {"/", "/a", "/documents/file.txt", "/a b/c", "/.hidden", "/a/...", "/..a/b..", "/a/.b.",
          "/%2e%2e", "/\xC3\xA4/\xE2\x82\xAC/\xF0\x9F\x98\x80", "/a\\b", "/a?b#c",
          "/C:", "/a/.holdfast", "/.holdfast2", "/holdfast", "/\xC2\xA0"}) {
        EXPECT_EQ(parsed(text), text);
    }
}

TEST(FilePath, SaysWhatIsWrong) {
    EXPECT_EQ(parsed(""), "Path must start with /");
    EXPECT_EQ(parsed("a/b"), "Path must start with /");
    EXPECT_EQ(parsed("../a"), "Path must start with /");
    for (const char* text : {"/..", "/../", "/../etc/passwd", "/a/..", "/a/../b", "/a/../../b",
                             "/.", "/./a", "/a/.", "/a/./"}) {
        EXPECT_EQ(parsed(text), "Path traversal not allowed") << text;
    }
    for (const char* text : {"//", "//a", "/a//b", "/a//", "///"}) {
        EXPECT_EQ(parsed(text), "Empty path segments not allowed") << text;
    }
    for (const std::string& text : {"/a\0b"s, "/\n"s, "/a\x7F"s, "/\x1F"s, "/\xC2\x80"s,
                                    "/a\xC2\x9F/b"s, "/../\0"s, "/a\0"s}) {
        EXPECT_EQ(parsed(text), "Control characters not allowed in path");
    }
    for (const char* text : {"/\xFF", "/\xC0\xAE\xC0\xAE/a", "/\xC3", "/\xED\xA0\x80",
                             "/\xF4\x90\x80\x80", "/a\xC2"}) {
        EXPECT_EQ(parsed(text), "Path is not valid UTF-8") << text;
    }
}

TEST(FilePath, HasALongestLengthInCharactersAndInBytes) {
    const auto long_path = [](std::string_view character, std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i) text += i % 80 == 0 ? "/" : character;
        return text;
    };
    EXPECT_EQ(parsed(long_path("a", 4096)), long_path("a", 4096));
    EXPECT_EQ(parsed(long_path("a", 4097)), "Path too long (max 4096 characters)");
    EXPECT_EQ(parsed(long_path("\xC3\xA4", 4097)), "Path too long (max 4096 characters)");
    EXPECT_EQ(parsed(long_path("\xC3\xA4", 2100)), "Path too long (max 4096 bytes)");
    EXPECT_EQ(parsed("/" + std::string(255, 'a')), "/" + std::string(255, 'a'));
    EXPECT_EQ(parsed("/b/" + std::string(256, 'a')), "Path segment too long (max 255 bytes)");
}

TEST(FilePath, DoesNotLeadIntoTheStoresOwnFolder) {
    for (const char* text : {"/.holdfast", "/.holdfast/", "/.holdfast/tmp/0", "/.HoldFast/lock"}) {
        EXPECT_EQ(parsed(text), "Path is reserved for the server") << text;
    }
}

TEST(FilePath, KnowsWhetherADirectoryIsMeant) {
    EXPECT_TRUE(FilePath::parse("/")->ends_in_slash());
    EXPECT_TRUE(FilePath::parse("/a/")->ends_in_slash());
    EXPECT_FALSE(FilePath::parse("/a")->ends_in_slash());
    EXPECT_EQ(FilePath::parse("/a/b/")->text(), "/a/b");
}

TEST(FilePath, ComesApart) {
    const auto path = FilePath::parse("/a/b/c");
    EXPECT_EQ(path->beneath_root(), "a/b/c");
    EXPECT_EQ(path->parent_beneath_root(), "a/b");
    EXPECT_EQ(path->name(), "c");
    EXPECT_EQ(path->segments(), (std::vector<std::string_view>{"a", "b", "c"}));
    EXPECT_EQ(FilePath::parse("/a")->parent_beneath_root(), ".");
    EXPECT_EQ(FilePath::parse("/a")->name(), "a");
    EXPECT_EQ(FilePath::parse("/")->beneath_root(), ".");
    EXPECT_TRUE(FilePath::parse("/")->is_root());
    EXPECT_TRUE(FilePath::parse("/")->segments().empty());
}

TEST(FilePath, KnowsWhatTheProtocolKeepsForItself) {
    for (const char* text : {"/auth", "/auth/", "/auth/session", "/events", "/events/stream"}) {
        EXPECT_TRUE(FilePath::parse(text)->is_reserved()) << text;
    }
    for (const char* text : {"/", "/author", "/a/auth", "/events2", "/Auth"}) {
        EXPECT_FALSE(FilePath::parse(text)->is_reserved()) << text;
    }
}

TEST(Segment, IsANameThatAPathCanHave) {
    EXPECT_TRUE(is_segment("a b"));
    for (const std::string& name :
         {""s, "."s, ".."s, "a/b"s, "a\n"s, "\xFF"s, "a\0"s, std::string(256, 'a')}) {
        EXPECT_FALSE(is_segment(name)) << name;
    }
}

}  // namespace
}  // namespace holdfast::files
