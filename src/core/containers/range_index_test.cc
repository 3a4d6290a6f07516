#include "core/containers/range_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "core/values/turn_limits.h"

namespace holdfast::core {
namespace {

constexpr std::uint64_t last = UINT64_MAX;

TEST(RangeIndex, FindsAnOverlap) {
    RangeIndex index;
    RangeIndex::Roots roots;
    const Slot a = index.add(roots, {.range = {0, 4096}, .serial = 1});
    const Slot b = index.add(roots, {.range = {4096, 8192}, .serial = 2});
    EXPECT_EQ(index.find_conflict(roots, {0, 1}, Mode::exclusive, last), a);
    EXPECT_EQ(index.find_conflict(roots, {4095, 4096}, Mode::exclusive, last), a);
    EXPECT_EQ(index.find_conflict(roots, {4096, 4097}, Mode::exclusive, last), b);
    EXPECT_EQ(index.find_conflict(roots, {8192, 9000}, Mode::exclusive, last), no_slot);
    EXPECT_NE(index.find_conflict(roots, {4000, 5000}, Mode::exclusive, last), no_slot);
    EXPECT_EQ(index.check_invariants(roots), 2U);
}

TEST(RangeIndex, LooksOnlyAtWaitersThatCameBefore) {
    RangeIndex index;
    RangeIndex::Roots roots;
    const Slot a = index.add(roots, {.range = {0, 10}, .serial = 5, .is_waiter = true});
    EXPECT_EQ(index.find_conflict(roots, {0, 10}, Mode::exclusive, 5), no_slot);
    EXPECT_EQ(index.find_conflict(roots, {0, 10}, Mode::exclusive, 6), a);
}

TEST(RangeIndex, LooksAtAllHoldersButItself) {
    RangeIndex index;
    RangeIndex::Roots roots;
    const Slot a = index.add(roots, {.range = {0, 10}, .serial = 5});
    EXPECT_EQ(index.find_conflict(roots, {0, 10}, Mode::exclusive, 5), no_slot);
    EXPECT_EQ(index.find_conflict(roots, {0, 10}, Mode::exclusive, 4), a);
}

TEST(RangeIndex, LetsSharedItemsCoexist) {
    RangeIndex index;
    RangeIndex::Roots roots;
    const Slot shared = index.add(roots, {.range = {0, 10}, .serial = 1, .mode = Mode::shared});
    EXPECT_EQ(index.find_conflict(roots, {0, 10}, Mode::shared, last), no_slot);
    EXPECT_EQ(index.find_conflict(roots, {0, 10}, Mode::exclusive, last), shared);
    const Slot exclusive = index.add(roots, {.range = {20, 30}, .serial = 2});
    EXPECT_EQ(index.find_conflict(roots, {0, 25}, Mode::shared, last), exclusive);
}

TEST(RangeIndex, KeepsInodesApart) {
    RangeIndex index;
    RangeIndex::Roots one, other;
    index.add(one, {.range = {0, 10}, .serial = 1});
    EXPECT_EQ(index.find_conflict(other, {0, 10}, Mode::exclusive, last), no_slot);
    index.add(other, {.range = {0, 10}, .serial = 2});
    EXPECT_EQ(index.check_invariants(one), 1U);
    EXPECT_EQ(index.check_invariants(other), 1U);
    EXPECT_EQ(index.size(), 2U);
}

TEST(RangeIndex, ReturnsWatchersEarliestFirst) {
    RangeIndex index;
    RangeIndex::Roots roots;
    const Slot held = index.add(roots, {.range = {0, 100}, .serial = 1});
    std::vector<Slot> waiting;
    for (std::uint64_t serial = 2; serial < 12; ++serial) {
        waiting.push_back(
            index.add(roots, {.range = {serial, serial + 1}, .serial = serial, .is_waiter = true}));
    }
    // Watch in some other order than they came.
    for (const std::size_t i : {3U, 9U, 0U, 7U, 1U, 8U, 2U, 5U, 4U, 6U}) {
        index.watch(waiting[i], held);
    }
    index.check_invariants(roots);
    EXPECT_EQ(index.remove(roots, held), waiting);
    for (const Slot item : waiting) EXPECT_EQ(index[item].watched, no_slot);
}

TEST(RangeIndex, ForgetsAWatcherThatLeaves) {
    for (std::size_t leaver = 0; leaver < 3; ++leaver) {
        RangeIndex index;
        RangeIndex::Roots roots;
        const Slot held = index.add(roots, {.range = {0, 100}, .serial = 1});
        std::vector<Slot> waiting;
        for (std::uint64_t serial = 2; serial < 5; ++serial) {
            waiting.push_back(index.add(
                roots, {.range = {serial, serial + 1}, .serial = serial, .is_waiter = true}));
            index.watch(waiting.back(), held);
        }
        EXPECT_TRUE(index.remove(roots, waiting[leaver]).empty());
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(leaver));
        EXPECT_EQ(index.remove(roots, held), waiting);
    }
}

TEST(RangeIndex, MayBeWatchedByWhoWatches) {
    RangeIndex index;
    RangeIndex::Roots roots;
    const Slot a = index.add(roots, {.range = {0, 10}, .serial = 1});
    const Slot b = index.add(roots, {.range = {0, 10}, .serial = 2, .is_waiter = true});
    const Slot c = index.add(roots, {.range = {0, 10}, .serial = 3, .is_waiter = true});
    index.watch(b, a);
    index.watch(c, b);
    EXPECT_EQ(index.remove(roots, b), std::vector<Slot>{c});
    EXPECT_TRUE(index.remove(roots, a).empty());
}

TEST(RangeIndex, AgreesWithComparingEveryPair) {
    // Once with one block of waiters, and once with several that grow together.
    for (const std::size_t size_max : {std::size_t{150}, std::size_t{6000}}) {
        RangeIndex index;
        RangeIndex::Roots roots;
        std::map<Slot, RangeIndex::Item> model;
        std::mt19937_64 random(99);
        const auto draw_range = [&random] {
            const std::uint64_t start = random() % 1000;
            if (random() % 50 == 0) return Range{start, Range::end_of_file};
            return Range{start, start + 1 + random() % (random() % 10 == 0 ? 500 : 20)};
        };
        const auto draw_mode = [&] { return random() % 3 == 0 ? Mode::shared : Mode::exclusive; };
        const auto draw_item = [&] {
            const auto index_of = static_cast<std::ptrdiff_t>(random() % model.size());
            return std::next(model.begin(), index_of);
        };
        std::uint64_t serial = 0;
        const int steps = static_cast<int>(size_max) * 4;
        for (int i = 0; i < steps; ++i) {
            // Grows, stays as large, and shrinks.
            const std::size_t size = i < steps / 2 ? size_max : size_max / 8;
            if (model.size() < 20 || (model.size() < size && random() % 8 != 0)) {
                const RangeIndex::Item item{.range = draw_range(),
                                            .serial = ++serial,
                                            .mode = draw_mode(),
                                            .is_waiter = random() % 4 != 0};
                model.emplace(index.add(roots, item), item);
            } else if (const auto item = draw_item(); item->second.is_waiter && i % 3 == 0) {
                index.become_holder(roots, item->first, 7);
                item->second.is_waiter = false;
            } else {
                index.remove(roots, item->first);
                model.erase(item);
            }
            const Range range = draw_range();
            const Mode mode = draw_mode();
            const std::uint64_t before =
                random() % 2 == 0 ? last : serial - random() % model.size();
            const auto is_in_the_way = [&](const auto& entry) {
                const RangeIndex::Item& item = entry.second;
                const bool counts = item.is_waiter ? item.serial < before : item.serial != before;
                return counts && item.range.overlaps(range) && conflicts(item.mode, mode);
            };
            const Slot found = index.find_conflict(roots, range, mode, before);
            if (found == no_slot) {
                ASSERT_TRUE(std::none_of(model.begin(), model.end(), is_in_the_way));
            } else {
                ASSERT_TRUE(model.contains(found));
                ASSERT_TRUE(is_in_the_way(*model.find(found)));
            }
            if (i % 100 == 0) {
                ASSERT_EQ(index.check_invariants(roots), model.size());
            }
        }
        while (!model.empty()) {
            index.remove(roots, model.begin()->first);
            model.erase(model.begin());
        }
        EXPECT_EQ(index.size(), 0U);
        EXPECT_EQ(index.block_count(), 0U);
        EXPECT_EQ(roots.holders, no_slot);
        EXPECT_EQ(roots.waiting.first, no_slot);
    }
}

// Ranges and serial numbers come from clients: neither may decide how a tree looks.
TEST(RangeIndex, StaysShallowWhateverTheStartIs) {
    constexpr std::size_t many = 200'000;
    // The constants of the hash, of earlier versions too, and their neighbours: a product with zero
    // is zero for every serial number.
    const std::vector<std::uint64_t> starts{0,
                                            1,
                                            0xd1b54a32d192ed03,
                                            ~0xd1b54a32d192ed03,
                                            0x9e3779b97f4a7c15,
                                            ~0x9e3779b97f4a7c15,
                                            0xd1b54a32d192ed03 ^ 0x9e3779b97f4a7c15,
                                            UINT64_MAX - 1};
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{0x1234567890abcdef}}) {
        for (const std::uint64_t start : starts) {
            RangeIndex index(seed);
            RangeIndex::Roots roots;
            std::vector<Slot> items;
            for (std::uint64_t serial = 1; serial <= many; ++serial) {
                items.push_back(index.add(roots, {.range = {start, Range::end_of_file},
                                                  .serial = serial,
                                                  .mode = Mode::shared}));
            }
            EXPECT_EQ(index.find_conflict(roots, {}, Mode::exclusive, last), items.back());
            EXPECT_EQ(index.check_invariants(roots), many);
            for (const Slot item : items) index.remove(roots, item);
            EXPECT_LT(index.depth_max(), 100U) << start;
        }
    }
}

TEST(RangeIndex, FindsTheYoungestSoonWhicheverSideItIsOn) {
    constexpr std::uint64_t many = 100'000;
    for (const bool is_descending : {false, true}) {
        RangeIndex index;
        RangeIndex::Roots roots;
        Slot youngest = no_slot;
        for (std::uint64_t serial = 1; serial <= many; ++serial) {
            const std::uint64_t start = 10 * (is_descending ? many - serial : serial);
            youngest = index.add(roots, {.range = {start, start + 10}, .serial = serial});
        }
        const std::uint64_t before = index.visits();
        EXPECT_EQ(index.find_conflict(roots, {}, Mode::exclusive, last), youngest);
        EXPECT_LT(index.visits() - before, 200U) << is_descending;
    }
}

// Old items that overlap, each beside a young one that does not: every part of the tree looks as if
// it had a younger item.
TEST(RangeIndex, IsContentWithAnotherThanTheYoungestIfThatIsHardToFind) {
    constexpr std::uint64_t many = 50'000, end = 1'000'000'000;
    RangeIndex index;
    RangeIndex::Roots roots;
    for (std::uint64_t i = 0; i < many; ++i) {
        index.add(roots, {.range = {10 * i, end}, .serial = i + 1, .mode = Mode::shared});
    }
    for (std::uint64_t i = 0; i < many; ++i) {
        index.add(
            roots,
            {.range = {10 * i + 1, 10 * i + 2}, .serial = many + i + 1, .mode = Mode::shared});
    }
    const std::uint64_t before = index.visits();
    const Slot found = index.find_conflict(roots, {end - 1, end}, Mode::exclusive, last);
    ASSERT_NE(found, no_slot);
    EXPECT_TRUE(index[found].range.overlaps({end - 1, end}));
    EXPECT_LT(index.visits() - before, RangeIndex::choosing_visits_max + 100);
}

TEST(RangeIndex, FindsAHolderAmongManyWaiters) {
    constexpr std::uint64_t many = 100'000;
    RangeIndex index;
    RangeIndex::Roots roots;
    const Range range{100, 200};
    for (std::uint64_t serial = 2; serial < many; ++serial) {
        index.add(roots, {.range = range, .serial = serial, .is_waiter = true});
    }
    EXPECT_EQ(index.find_holder(roots, range, Mode::exclusive), no_slot);
    const Slot held = index.add(roots, {.range = {150, 160}, .serial = 1, .mode = Mode::shared});
    EXPECT_EQ(index.find_holder(roots, range, Mode::exclusive), held);
    EXPECT_EQ(index.find_holder(roots, range, Mode::shared), no_slot) << "it is shared";
    EXPECT_EQ(index.find_holder(roots, {160, 200}, Mode::exclusive), no_slot);
    index.remove(roots, held);
    const Slot waiter = index.add(roots, {.range = range, .serial = many, .is_waiter = true});
    const std::uint64_t before = index.visits();
    EXPECT_EQ(index.find_holder(roots, range, Mode::exclusive), no_slot);
    index.become_holder(roots, waiter, 5);
    EXPECT_EQ(index[waiter].record, 5U);
    EXPECT_EQ(index.find_holder(roots, range, Mode::exclusive), waiter);
    EXPECT_LT(index.visits() - before, 100U);
    EXPECT_EQ(index.check_invariants(roots), many - 1);
    index.remove(roots, waiter);
    EXPECT_EQ(index.find_holder(roots, range, Mode::exclusive), no_slot);
    EXPECT_EQ(index.check_invariants(roots), many - 2);
}

// Old waiters that are not in the way, and among them young ones that would be: only their age tells
// them apart.
TEST(RangeIndex, FindsSoonThatNothingOlderIsInTheWay) {
    constexpr std::uint64_t old = 60'000, young = 40'000, middle = 10 * old / 2;
    RangeIndex index(0x5eed);
    RangeIndex::Roots roots;
    const Range wanted{middle + 5, middle + 10};
    std::uint64_t serial = 0;
    for (std::uint64_t i = 0; i < old; ++i) {
        const std::uint64_t start = i * 7919 % old * 10;
        index.add(roots, {.range = {start, start + 5},
                          .serial = ++serial,
                          .mode = Mode::shared,
                          .is_waiter = true});
    }
    const Slot victim = index.add(roots, {.range = wanted, .serial = ++serial, .is_waiter = true});
    for (std::uint64_t i = 0; i < young; ++i) {
        index.add(roots, {.range = {i * 7919 % young * 7, 2 * middle},
                          .serial = ++serial,
                          .mode = Mode::shared,
                          .is_waiter = true});
    }
    const std::uint64_t before = index.visits();
    EXPECT_EQ(index.find_conflict(roots, wanted, Mode::exclusive, index[victim].serial), no_slot);
    EXPECT_LT(index.visits() - before, 3000U);
    EXPECT_EQ(index.check_invariants(roots), old + 1 + young);
}

// Who knows the blocks leaves every second one as good as empty, and fills the queue again.
TEST(RangeIndex, KeepsFewBlocksWhoeverLeaves) {
    constexpr std::size_t many = 100'000;
    RangeIndex index(0x5eed);
    RangeIndex::Roots roots;
    std::vector<Slot> waiters;
    std::uint64_t serial = 0;
    const auto fill = [&] {
        while (waiters.size() < many) {
            const std::uint64_t start = serial * 7919 % many * 10;
            waiters.push_back(index.add(
                roots, {.range = {start, start + 5}, .serial = ++serial, .is_waiter = true}));
        }
    };
    for (int round = 0; round < 12; ++round) {
        fill();
        std::vector<Slot> kept;
        std::size_t place = 0;
        for (std::size_t i = 0; i < waiters.size(); ++i) {
            place = i > 0 && index[waiters[i]].block == index[waiters[i - 1]].block ? place + 1 : 0;
            const std::size_t count = i / RangeIndex::block_items_max;
            if (count % 2 == 0 || place == 0) {
                kept.push_back(waiters[i]);
            } else {
                index.remove(roots, waiters[i]);
            }
        }
        waiters = std::move(kept);
    }
    fill();
    EXPECT_EQ(index.check_invariants(roots), many);
    EXPECT_LT(index.block_count(), 2 * many / (RangeIndex::block_items_max - 200) + 2);
    // The last of each block look at all others there one by one. Between two ranges nothing is held.
    std::uint64_t most = 0;
    for (std::size_t i = 0; i + 1 < many; ++i) {
        const RangeIndex::Item& waiter = index[waiters[i]];
        if (waiter.block == index[waiters[i + 1]].block) continue;
        const Range gap{waiter.range.start + 5, waiter.range.start + 10};
        const std::uint64_t before = index.visits();
        EXPECT_EQ(index.find_conflict(roots, gap, Mode::exclusive, waiter.serial), no_slot);
        most = std::max(most, index.visits() - before);
    }
    RecordProperty("blocks", static_cast<int>(index.block_count()));
    RecordProperty("visits", static_cast<int>(most));
    EXPECT_LT(most, visits_max);
}

TEST(RangeIndex, StaysShallowWhenRangesComeInOrder) {
    // A tree that degenerates into a list overflows the stack here.
    RangeIndex index;
    RangeIndex::Roots roots;
    std::vector<Slot> items;
    for (std::uint64_t i = 0; i < 200'000; ++i) {
        items.push_back(index.add(roots, {.range = {i, i + 1}, .serial = i + 1}));
    }
    EXPECT_EQ(index.find_conflict(roots, {77'777, 77'778}, Mode::exclusive, last), items[77'777]);
    for (const Slot item : items) index.remove(roots, item);
    EXPECT_EQ(index.size(), 0U);
}

}  // namespace
}  // namespace holdfast::core
