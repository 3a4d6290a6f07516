#include "base/text/text_arena.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::base {
namespace {

TEST(TextArena, KeepsTextsOfAllSizesWhereTheyAre) {
    TextArena arena;
    std::vector<std::string> texts;
    std::vector<std::string_view> kept;
    for (const std::size_t size : {1, 0, 7, 16'000, 3, 100'000, 16'384, 16'385, 2, 5'000}) {
        texts.emplace_back(size, static_cast<char>('a' + texts.size()));
        std::string passing = texts.back();
        kept.push_back(arena.keep(passing));
        passing.assign(size, '?');
    }
    const TextArena moved = std::move(arena);
    for (std::size_t index = 0; index < texts.size(); ++index) EXPECT_EQ(kept[index], texts[index]);
    EXPECT_GE(moved.bytes(), 140'000U);
}

TEST(TextArena, TakesNoNewMemoryForWhatFitsAfterItWasCleared) {
    TextArena arena;
    const char* const first = arena.keep("one").data();
    const std::size_t bytes = arena.bytes();
    for (int round = 0; round < 10; ++round) {
        arena.clear();
        EXPECT_EQ(arena.keep("another").data(), first);
        EXPECT_EQ(arena.bytes(), bytes);
    }
}

TEST(TextArena, GivesBackWhatWasUnusuallyMuch) {
    TextArena arena;
    for (int count = 0; count < 1'000; ++count) EXPECT_NE(arena.take(10'000), nullptr);
    EXPECT_NE(arena.take(1'000'000), nullptr);
    arena.clear();
    EXPECT_LE(arena.bytes(), 256U * 1024);
    EXPECT_EQ(arena.keep("and goes on"), "and goes on");
}

TEST(TextArena, SwapsTextsWithoutMovingThem) {
    TextArena one, other;
    const std::string_view text = one.keep("text");
    one.swap(other);
    one.clear();
    EXPECT_EQ(text, "text");
    EXPECT_EQ(one.bytes(), 0U);
}

}  // namespace
}  // namespace holdfast::base
