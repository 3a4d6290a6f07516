#include "core/values/scope_set.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

TEST(ScopeSet, HasATextForm) {
    const std::vector<SetMember> members{
        {.scope = Scope::named("nightly")},
        {.scope = Scope::path("/a"), .mode = Mode::shared},
        {.scope = Scope::semaphore("s"), .limit = 3},
        {.scope = Scope::of_inode(7)},
        {.scope = Scope::of_range(8, {0, Range::end_of_file})},
    };
    const std::string text = set_to_text(members);
    EXPECT_EQ(text, "x1:7:nightlys1:7:path:/ax3:11:semaphore:sx1:7:inode:7x1:10:range:8:0-");
    EXPECT_EQ(parse_set(text), members);
}

TEST(ScopeSet, KeepsNamesWithAnyBytes) {
    const std::string odd("x1:5:\0:7\n", 9);
    const std::vector<SetMember> members{{.scope = Scope::named(odd)},
                                         {.scope = Scope::named("path:x")}};
    EXPECT_EQ(parse_set(set_to_text(members)), members);
}

TEST(ScopeSet, ReadsNoOtherText) {
    const std::string text = set_to_text(
        std::vector<SetMember>{{.scope = Scope::named("a")}, {.scope = Scope::path("b")}});
    std::size_t whole = 0;
    for (std::size_t size = 0; size < text.size(); ++size) {
        whole += parse_set(std::string_view(text).substr(0, size)) ? 1 : 0;
    }
    EXPECT_EQ(whole, 1u);  // the first member alone
    for (const std::string_view wrong : {"", "a", "y1:1:a", "x1:2:a", "x:1:a", "x1:1",
                                         "x1:8:range:7:", "x4294967296:1:a", "x-1:1:a"}) {
        EXPECT_FALSE(parse_set(wrong)) << wrong;
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
