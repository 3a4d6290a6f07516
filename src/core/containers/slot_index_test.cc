#include "core/containers/slot_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/containers/key.h"

namespace holdfast::core {
namespace {

TEST(SlotIndex, FindsWhatWasPutIn) {
    SlotIndex index;
    index.insert({.slot = 3, .hash = 100});
    index.insert({.slot = 4, .hash = 200});
    const auto any = [](Slot) { return true; };
    EXPECT_EQ(index.find(100, any), 3U);
    EXPECT_EQ(index.find(200, any), 4U);
    EXPECT_EQ(index.find(300, any), no_slot);
    EXPECT_EQ(index.size(), 2U);
}

TEST(SlotIndex, AsksWhenHashesAreEqual) {
    SlotIndex index;
    for (Slot slot = 0; slot < 50; ++slot) index.insert({.slot = slot, .hash = 7});
    for (Slot slot = 0; slot < 50; ++slot) {
        EXPECT_EQ(index.find(7, [slot](Slot candidate) { return candidate == slot; }), slot);
    }
    EXPECT_EQ(index.find(7, [](Slot) { return false; }), no_slot);
    index.erase({.slot = 20, .hash = 7});
    EXPECT_EQ(index.find(7, [](Slot candidate) { return candidate == 20; }), no_slot);
    EXPECT_EQ(index.find(7, [](Slot candidate) { return candidate == 21; }), 21U);
}

TEST(SlotIndex, AsksOnlyAboutSlotsWithThatHash) {
    SlotIndex index;
    index.insert({.slot = 1, .hash = 10});
    index.insert({.slot = 2, .hash = 20});
    std::vector<Slot> asked;
    (void)index.find(20, [&](Slot slot) { return asked.push_back(slot), true; });
    EXPECT_EQ(asked, std::vector<Slot>{2});
}

TEST(SlotIndexDeathTest, StopsWhenWhatIsNotThereIsErased) {
    SlotIndex index;
    index.insert({.slot = 1, .hash = 10});
    EXPECT_DEATH(index.erase({.slot = 2, .hash = 10}), "empty");
}

TEST(SlotIndex, AgreesWithAMapWhileItGrowsAndShrinks) {
    SlotIndex index;
    std::map<Slot, std::uint32_t> model;
    std::mt19937 random(11);
    for (int i = 0; i < 300'000; ++i) {
        const auto slot = static_cast<Slot>(random() % 60'000);
        const bool grows = i < 150'000;
        const auto found = model.find(slot);
        if (found == model.end() && grows) {
            // Few different hashes, so that many slots share one.
            model.emplace(slot, static_cast<std::uint32_t>(random() % 30'000));
            index.insert({.slot = slot, .hash = model[slot]});
        } else if (found != model.end() && !grows) {
            index.erase({.slot = slot, .hash = found->second});
            model.erase(found);
        }
        ASSERT_EQ(index.size(), model.size());
    }
    for (Slot slot = 0; slot < 60'000; ++slot) {
        const auto found = model.find(slot);
        const std::uint32_t hash = found == model.end() ? 1 : found->second;
        const Slot expected = found == model.end() ? no_slot : slot;
        ASSERT_EQ(index.find(hash, [&](Slot candidate) { return candidate == slot; }), expected);
    }
}

// However large the index is, one call moves a few entries only, and everything is found meanwhile.
TEST(SlotIndex, MovesAFewEntriesAtATimeWhenItGrowsAndShrinks) {
    constexpr Slot many = 1'000'000;
    const auto hash = [](Slot slot) {
        return static_cast<std::uint32_t>(mix(slot + 1, 0x9e3779b97f4a7c15));
    };
    SlotIndex index;
    std::uint64_t moves = 0, most = 0;
    const auto note_moves = [&] {
        most = std::max(most, index.moves() - std::exchange(moves, index.moves()));
    };
    const auto find = [&](Slot slot) {
        return index.find(hash(slot), [slot](Slot one) { return one == slot; });
    };
    for (Slot slot = 0; slot < many; ++slot) {
        index.insert({.slot = slot, .hash = hash(slot)});
        note_moves();
        const Slot other = slot / 7 * 5;
        ASSERT_EQ(find(other), other);
        ASSERT_EQ(find(slot + 1), no_slot);
    }
    for (Slot slot = 0; slot < many; ++slot) ASSERT_EQ(find(slot), slot);
    EXPECT_GT(index.moves(), many / 2);
    for (Slot slot = 0; slot < many; ++slot) {
        index.erase({.slot = slot, .hash = hash(slot)});
        note_moves();
        ASSERT_EQ(find(slot), no_slot);
        const Slot other = slot + (many - slot) / 2;
        ASSERT_EQ(find(other), other == slot ? no_slot : other);
    }
    // The first move after a growth comes on top.
    EXPECT_LE(most, 2 * SlotIndex::places_moved_max);
    EXPECT_EQ(index.size(), 0U);
}

TEST(KeyHash, DependsOnTheSeedAndEveryByte) {
    const std::string text = "a key of twenty-six bytes.";
    const auto hash = hash_text(1, text);
    EXPECT_EQ(hash_text(1, text), hash);
    EXPECT_NE(hash_text(2, text), hash);
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string other = text;
        other[i] ^= 1;
        EXPECT_NE(hash_text(1, other), hash) << i;
        EXPECT_NE(hash_text(1, text.substr(0, i)), hash) << i;
    }
}

TEST(KeyHash, TellsZeroBytesOfDifferentNumberApart) {
    EXPECT_NE(hash_text(1, std::string(1, '\0')), hash_text(1, std::string(2, '\0')));
    EXPECT_NE(hash_text(1, ""), hash_text(1, std::string(1, '\0')));
}

}  // namespace
}  // namespace holdfast::core
