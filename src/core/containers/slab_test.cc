#include "core/containers/slab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::core {
namespace {

// Counts its living objects, and is as large as a real record.
struct Tracked {
    explicit Tracked(int& alive_count) : alive(alive_count) { ++alive; }
    Tracked(const Tracked&) = delete;
    Tracked& operator=(const Tracked&) = delete;
    ~Tracked() { --alive; }

    int& alive;
    std::array<char, 64> payload{};
};

TEST(Slab, KeepsWhatWasPutIn) {
    Slab<std::string> slab;
    const Slot a = slab.emplace("alpha");
    const Slot b = slab.emplace(3U, 'b');
    EXPECT_EQ(slab[a], "alpha");
    EXPECT_EQ(slab[b], "bbb");
    EXPECT_EQ(slab.size(), 2U);
}

TEST(Slab, SaysWhichSlotsAreInUse) {
    Slab<std::int64_t> slab;
    EXPECT_FALSE(slab.contains(0));
    EXPECT_FALSE(slab.contains(no_slot));
    const Slot a = slab.emplace(1);
    EXPECT_TRUE(slab.contains(a));
    EXPECT_FALSE(slab.contains(a + 1));
    EXPECT_FALSE(slab.contains(a + 1'000'000));
    slab.erase(a);
    EXPECT_FALSE(slab.contains(a));
}

TEST(Slab, NeverMovesARecord) {
    Slab<std::int64_t> slab;
    const Slot first = slab.emplace(7);
    const std::int64_t* const address = &slab[first];
    for (int i = 0; i < 100'000; ++i) slab.emplace(i);
    EXPECT_EQ(&slab[first], address);
    EXPECT_EQ(*address, 7);
}

TEST(Slab, TakesThePlaceThatWasFreedLast) {
    Slab<std::int64_t> slab;
    for (int i = 0; i < 2000; ++i) slab.emplace(i);
    slab.erase(10);
    slab.erase(3);
    EXPECT_EQ(slab.emplace(0), 3U);
    EXPECT_EQ(slab.emplace(0), 10U);
}

TEST(Slab, DestroysItsRecords) {
    int alive = 0;
    {
        Slab<Tracked> slab;
        std::vector<Slot> slots;
        slots.reserve(3000);
        for (int i = 0; i < 3000; ++i) slots.push_back(slab.emplace(alive));
        EXPECT_EQ(alive, 3000);
        for (int i = 0; i < 2000; ++i) slab.erase(slots[static_cast<std::size_t>(i)]);
        EXPECT_EQ(alive, 1000);
    }
    EXPECT_EQ(alive, 0);
}

TEST(Slab, VisitsInTheOrderOfSlots) {
    Slab<std::int64_t> slab;
    for (int i = 0; i < 3000; ++i) slab.emplace(i);
    for (Slot slot = 0; slot < 3000; slot += 2) slab.erase(slot);
    std::vector<Slot> visited;
    const auto& constant = slab;
    constant.for_each([&](Slot slot, const std::int64_t& value) {
        EXPECT_EQ(slot, value);
        visited.push_back(slot);
    });
    ASSERT_EQ(visited.size(), 1500U);
    EXPECT_TRUE(std::is_sorted(visited.begin(), visited.end()));
    EXPECT_EQ(visited.front(), 1U);
}

// That a chunk was freed cannot be seen directly. The test looks at the numbers instead: those of the
// freed chunk are used again before any larger one.
TEST(Slab, GivesEmptyChunksBackAndUsesTheirNumbersAgain) {
    Slab<std::int64_t> slab;
    constexpr Slot chunk = 65'536;
    for (Slot i = 0; i < 10 * chunk; ++i) slab.emplace(i);
    for (Slot slot = chunk; slot < 9 * chunk; ++slot) slab.erase(slot);
    EXPECT_EQ(slab.size(), 2 * chunk);
    Slot largest = 0;
    for (Slot i = 0; i < 8 * chunk; ++i) largest = std::max(largest, slab.emplace(i));
    EXPECT_LT(largest, 10 * chunk);
    EXPECT_EQ(slab.emplace(0), 10 * chunk);
}

TEST(Slab, GivesTheSameSlotsForTheSameCalls) {
    const auto run = [] {
        Slab<std::int64_t> slab;
        std::vector<Slot> live, history;
        std::mt19937 random(42);
        for (int i = 0; i < 50'000; ++i) {
            const bool grows = random() % 100 < (i < 25'000 ? 60U : 40U);
            if (grows || live.empty()) {
                live.push_back(slab.emplace(i));
                history.push_back(live.back());
            } else {
                std::swap(live[random() % live.size()], live.back());
                slab.erase(live.back());
                live.pop_back();
            }
        }
        return history;
    };
    EXPECT_EQ(run(), run());
}

TEST(Slab, HoldsExactlyWhatAModelHolds) {
    Slab<std::unique_ptr<int>> slab;
    std::vector<std::pair<Slot, int>> model;
    std::mt19937 random(7);
    for (int i = 0; i < 30'000; ++i) {
        if (model.empty() || random() % 100 < (i < 15'000 ? 70U : 30U)) {
            const Slot slot = slab.emplace(std::make_unique<int>(i));
            model.emplace_back(slot, i);
        } else {
            std::swap(model[random() % model.size()], model.back());
            ASSERT_EQ(*slab[model.back().first], model.back().second);
            slab.erase(model.back().first);
            model.pop_back();
        }
        ASSERT_EQ(slab.size(), model.size());
    }
    for (const auto& [slot, value] : model) EXPECT_EQ(*slab[slot], value);
}

// Chunks become empty, and get records again while they are about to be freed.
TEST(Slab, HoldsExactlyWhatAModelHoldsWhileChunksComeAndGo) {
    Slab<std::unique_ptr<Slot>> slab;
    std::vector<Slot> live;
    std::mt19937 random(11);
    const auto add = [&] {
        const Slot slot = slab.emplace();
        ASSERT_EQ(slab[slot], nullptr);
        slab[slot] = std::make_unique<Slot>(slot);
        live.push_back(slot);
    };
    for (int round = 0; round < 6; ++round) {
        while (slab.size() < 400'000) add();
        if (round % 2 == 0) std::shuffle(live.begin(), live.end(), random);
        const std::size_t left = round % 3 == 0 ? 0 : 50;
        while (live.size() > left) {
            const Slot slot = live.back();
            ASSERT_EQ(*slab[slot], slot);
            slab.erase(slot);
            ASSERT_FALSE(slab.contains(slot));
            live.pop_back();
            if (random() % 1000 == 0 && slab.size() < 1000) {
                for (int i = 0; i < 100; ++i) add();
            }
            if (live.size() < 2000 && random() % 4 == 0) {
                add();
                std::swap(live.front(), live.back());
            }
        }
        ASSERT_EQ(slab.size(), live.size());
    }
    Slot count = 0;
    slab.for_each([&](Slot slot, const std::unique_ptr<Slot>& value) {
        ASSERT_EQ(*value, slot);
        ++count;
    });
    EXPECT_EQ(count, slab.size());
    EXPECT_LT(*std::max_element(live.begin(), live.end()), 8 * 65'536U) << "numbers are used again";
}

TEST(SlabDeathTest, StopsWhenARecordIsErasedTwice) {
    Slab<std::int64_t> slab;
    const Slot a = slab.emplace(1);
    slab.emplace(2);
    slab.erase(a);
    EXPECT_DEATH(slab.erase(a), "is_used");
}

}  // namespace
}  // namespace holdfast::core
