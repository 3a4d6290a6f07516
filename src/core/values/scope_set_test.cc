#include "core/values/scope_set.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::core {
namespace {

std::vector<SetMember> some_members() {
    return {{.scope = Scope::named("nightly")},
            {.scope = Scope::path("/x"), .mode = Mode::shared},
            {.scope = Scope::semaphore("printers"), .limit = 5},
            {.scope = Scope::of_inode(7)},
            {.scope = Scope::of_range(8, {0, 4096}), .mode = Mode::shared},
            {.scope = Scope::of_range(9, {4096, Range::end_of_file})}};
}

TEST(ScopeSet, HasTheTextThatItsDescriptionShows) {
    EXPECT_EQ(
        set_to_text(std::vector<SetMember>{{.scope = Scope::named("nightly")},
                                           {.scope = Scope::path("/x"), .mode = Mode::shared},
                                           {.scope = Scope::semaphore("printers"), .limit = 5}}),
        "3;x 7:nightly,s 7:path:/x,x5 18:semaphore:printers,");
}

TEST(ScopeSet, IsWrittenAndReadTheSame) {
    const std::vector<SetMember> members = some_members();
    const std::string text = set_to_text(members);
    EXPECT_EQ(parse_set(text), members) << text;
}

TEST(ScopeSet, OfNothingIsAnEmptyText) {
    EXPECT_EQ(set_to_text({}), "");
    EXPECT_EQ(parse_set(""), std::vector<SetMember>{});
}

TEST(ScopeSet, HasMembersThatPointIntoTheText) {
    const std::string text = set_to_text(some_members());
    const auto members = parse_set(text);
    ASSERT_TRUE(members);
    const std::string_view name = members->front().scope.name;
    EXPECT_GE(name.data(), text.data());
    EXPECT_LE(name.data() + name.size(), text.data() + text.size());
}

TEST(ScopeSet, MayHaveNamesOfAnyBytes) {
    std::string every_byte;
    for (int byte = 0; byte < 256; ++byte) every_byte.push_back(static_cast<char>(byte));
    const std::vector<std::string> names{
        every_byte, "a,x 1:b", ",",     "1;x 1:a,", "named:x", "path:/a",   std::string("\0", 1),
        "x\ny",     " ",       "\"'\\", "inode:7",  ":",       "semaphore", std::string(4096, ',')};
    std::vector<SetMember> members;
    for (const std::string& name : names) {
        members.push_back({.scope = Scope::named(name)});
        members.push_back({.scope = Scope::path(name), .mode = Mode::shared});
        members.push_back({.scope = Scope::semaphore(name), .limit = UINT32_MAX});
    }
    const std::string text = set_to_text(members);
    EXPECT_EQ(parse_set(text), members);
}

TEST(ScopeSet, CutAtAnyByteIsNotRead) {
    const std::string whole = set_to_text(some_members());
    for (std::size_t length = 1; length < whole.size(); ++length) {
        EXPECT_FALSE(parse_set(std::string_view(whole).substr(0, length))) << length;
        EXPECT_FALSE(parse_set(std::string_view(whole).substr(length))) << length;
    }
}

TEST(ScopeSet, IsNotReadFromAnythingElse) {
    for (const std::string_view text : {"0;",
                                        "1;",
                                        ";",
                                        "a",
                                        "2;x 1:a,",
                                        "1;x 1:a,x 1:b,",
                                        "01;x 1:a,",
                                        "+1;x 1:a,",
                                        "1;y 1:a,",
                                        "1;x1 1:a,",
                                        "1;x0 1:a,",
                                        "1;x02 1:a,",
                                        "1;x-1 1:a,",
                                        "1;x4294967296 1:a,",
                                        "1;x 01:a,",
                                        "1;x 0:,",
                                        "1;x 2:a,",
                                        "1;x 1:ab,",
                                        "1;x 1:a",
                                        "1;x 1:a,,",
                                        "1;x  1:a,",
                                        "1;x 18446744073709551615:a,",
                                        "1;x 99999999999999999999:a,",
                                        "1;x 7:named:a,",  // its text is `a`
                                        "1;x 6:named:,",
                                        "1;x 9:inode:007,",
                                        "18446744073709551615;x 1:a,"}) {
        EXPECT_FALSE(parse_set(text)) << text;
    }
}

TEST(ScopeSet, WithAChangedByteIsAnotherSetOrNone) {
    const std::vector<SetMember> members = some_members();
    const std::string whole = set_to_text(members);
    std::mt19937 random(1);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        while (changed[at] == whole[at]) changed[at] = static_cast<char>(random() % 256);
        const auto read = parse_set(changed);
        if (!read) continue;
        EXPECT_NE(*read, members) << changed;
        EXPECT_EQ(set_to_text(*read), changed);
    }
}

TEST(ScopeSet, FindsMembersThatOverlap) {
    const auto overlap_of = [](std::vector<SetMember> members) {
        const auto overlap = find_overlap(members);
        return overlap ? std::to_string(overlap->first) + std::to_string(overlap->second) : "";
    };
    EXPECT_EQ(overlap_of({{.scope = Scope::named("a")},
                          {.scope = Scope::semaphore("a")},
                          {.scope = Scope::path("a")},
                          {.scope = Scope::of_range(1, {0, 10})},
                          {.scope = Scope::of_range(1, {10, 20})},
                          {.scope = Scope::of_inode(2)}}),
              "");
    EXPECT_EQ(overlap_of({{.scope = Scope::named("b")},
                          {.scope = Scope::named("a")},
                          {.scope = Scope::named("b"), .mode = Mode::shared}}),
              "02");
    EXPECT_EQ(overlap_of({{.scope = Scope::of_range(1, {5, 15})},
                          {.scope = Scope::of_range(1, {20, 30})},
                          {.scope = Scope::of_range(1, {14, 16})}}),
              "02");
    EXPECT_EQ(overlap_of({{.scope = Scope::of_range(1, {5, 6})}, {.scope = Scope::of_inode(1)}}),
              "01");
    // The long range overlaps a range that is not the next one to begin.
    EXPECT_NE(overlap_of({{.scope = Scope::of_range(1, {0, 100})},
                          {.scope = Scope::of_range(1, {50, 51})},
                          {.scope = Scope::of_range(1, {10, 11})}}),
              "");
}

}  // namespace
}  // namespace holdfast::core
