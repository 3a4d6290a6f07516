#include "core/containers/deadline_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::core {
namespace {

Time at_us(std::int64_t us) {
    return Time{Duration{us}};
}

// Removes everything in the order of the heap.
std::vector<Slot> drain(DeadlineHeap& heap) {
    std::vector<Slot> slots;
    while (const auto top = heap.top()) {
        slots.push_back(top->slot);
        heap.disarm(top->slot);
        heap.check_invariants();
    }
    return slots;
}

TEST(DeadlineHeap, IsEmptyAtFirst) {
    DeadlineHeap heap;
    EXPECT_EQ(heap.size(), 0U);
    EXPECT_FALSE(heap.top());
    EXPECT_FALSE(heap.is_armed(0));
    EXPECT_FALSE(heap.is_armed(no_slot));
    heap.disarm(5);
    heap.check_invariants();
}

TEST(DeadlineHeap, GivesTheEarliestFirst) {
    DeadlineHeap heap;
    heap.arm(1, at_us(30));
    heap.arm(2, at_us(10));
    heap.arm(3, at_us(20));
    EXPECT_EQ(heap.top()->deadline, at_us(10));
    EXPECT_EQ(drain(heap), (std::vector<Slot>{2, 3, 1}));
}

TEST(DeadlineHeap, SweepsAwayWhatIsNotWantedAFewAtATime) {
    constexpr Slot many = 10'000;
    DeadlineHeap heap;
    std::mt19937 random(3);
    std::vector<std::pair<Time, Slot>> kept;
    for (Slot slot = 0; slot < many; ++slot) {
        const Time deadline = at_us(static_cast<std::int64_t>(random() % 100'000));
        heap.arm(slot, deadline);
        if (slot % 7 == 0) kept.emplace_back(deadline, slot);
    }
    std::size_t looks = 0;
    for (Slot calls = 0; calls < many / 4; ++calls) {
        std::size_t looks_now = 0;
        heap.sweep([&](Slot slot) {
            ++looks_now;
            return slot % 7 == 0;
        });
        looks = std::max(looks, looks_now);
    }
    EXPECT_LE(looks, 16U);
    heap.check_invariants();
    EXPECT_EQ(heap.size(), kept.size()) << "each entry was looked at";
    EXPECT_FALSE(heap.is_armed(1));
    std::sort(kept.begin(), kept.end());
    std::vector<Slot> expected;
    expected.reserve(kept.size());
    for (const auto& [deadline, slot] : kept) expected.push_back(slot);
    EXPECT_EQ(drain(heap), expected);
}

TEST(DeadlineHeap, IsClearedWhateverItsSize) {
    for (const Slot many : {Slot{10}, Slot{100'000}}) {
        DeadlineHeap heap;
        for (Slot slot = 0; slot < many; ++slot) heap.arm(slot, at_us(slot));
        heap.clear();
        EXPECT_EQ(heap.size(), 0U);
        EXPECT_FALSE(heap.is_armed(1));
        heap.check_invariants();
        heap.arm(1, at_us(5));
        EXPECT_EQ(heap.top()->slot, 1U);
        heap.check_invariants();
    }
}

TEST(DeadlineHeap, GivesEqualDeadlinesInTheOrderOfSlots) {
    DeadlineHeap heap;
    for (const Slot slot : {9U, 2U, 7U, 4U, 0U, 5U}) heap.arm(slot, at_us(1));
    EXPECT_EQ(drain(heap), (std::vector<Slot>{0, 2, 4, 5, 7, 9}));
}

TEST(DeadlineHeap, LeavesALaterDeadlineForLater) {
    DeadlineHeap heap;
    heap.arm(1, at_us(10));
    heap.arm(2, at_us(20));
    heap.arm(1, at_us(100));
    // Too early, as documented; the user of the heap postpones it.
    EXPECT_EQ(heap.top()->slot, 1U);
    EXPECT_EQ(heap.top()->deadline, at_us(10));
    heap.postpone_top(at_us(100));
    heap.check_invariants();
    EXPECT_EQ(drain(heap), (std::vector<Slot>{2, 1}));
}

TEST(DeadlineHeap, MovesAnEarlierDeadlineForwardAtOnce) {
    DeadlineHeap heap;
    heap.arm(1, at_us(10));
    heap.arm(2, at_us(20));
    heap.arm(2, at_us(5));
    EXPECT_EQ(heap.top()->slot, 2U);
    EXPECT_EQ(heap.size(), 2U);
    heap.check_invariants();
}

TEST(DeadlineHeap, PostponesTheTopToItsOwnMoment) {
    DeadlineHeap heap;
    heap.arm(1, at_us(10));
    heap.arm(2, at_us(10));
    heap.postpone_top(at_us(10));
    EXPECT_EQ(heap.top()->slot, 1U);
    heap.postpone_top(at_us(11));
    EXPECT_EQ(heap.top()->slot, 2U);
}

TEST(DeadlineHeap, ForgetsFromTheMiddle) {
    for (Slot gone = 0; gone < 100; ++gone) {
        DeadlineHeap heap;
        std::set<std::pair<Time, Slot>> model;
        std::mt19937 random(gone);
        for (Slot slot = 0; slot < 100; ++slot) {
            const Time deadline = at_us(static_cast<std::int64_t>(random() % 50));
            heap.arm(slot, deadline);
            if (slot != gone) model.emplace(deadline, slot);
        }
        heap.disarm(gone);
        EXPECT_FALSE(heap.is_armed(gone));
        heap.check_invariants();
        std::vector<Slot> expected;
        expected.reserve(model.size());
        for (const auto& [deadline, slot] : model) expected.push_back(slot);
        EXPECT_EQ(drain(heap), expected);
    }
}

TEST(DeadlineHeap, AgreesWithASetWhateverIsDone) {
    DeadlineHeap heap;
    std::set<std::pair<Time, Slot>> model;
    std::map<Slot, Time> deadlines;
    std::mt19937 random(2024);
    const auto move = [&](Slot slot, Time deadline) {
        if (deadlines.contains(slot)) model.erase({deadlines[slot], slot});
        model.emplace(deadline, slot);
        deadlines[slot] = deadline;
    };
    for (int i = 0; i < 40'000; ++i) {
        const auto slot = static_cast<Slot>(random() % 500);
        const Time deadline = at_us(static_cast<std::int64_t>(random() % 10'000));
        const auto choice = random() % 4;
        if (choice < 2) {
            heap.arm(slot, deadline);
            if (!deadlines.contains(slot) || deadline < deadlines[slot]) move(slot, deadline);
        } else if (choice == 2) {
            heap.disarm(slot);
            if (deadlines.contains(slot)) model.erase({deadlines[slot], slot});
            deadlines.erase(slot);
        } else if (!model.empty() && deadline >= model.begin()->first) {
            heap.postpone_top(deadline);
            move(model.begin()->second, deadline);
        }
        ASSERT_EQ(heap.size(), model.size());
        if (!model.empty()) {
            ASSERT_EQ(heap.top()->deadline, model.begin()->first);
            ASSERT_EQ(heap.top()->slot, model.begin()->second);
        }
        if (i % 1000 == 0) heap.check_invariants();
    }
    std::vector<Slot> expected;
    expected.reserve(model.size());
    for (const auto& [deadline, slot] : model) expected.push_back(slot);
    EXPECT_EQ(drain(heap), expected);
}

TEST(DeadlineHeap, KeepsItsOrderWhileItShrinks) {
    DeadlineHeap heap;
    constexpr Slot many = 100'000;
    std::mt19937 random(1);
    for (Slot slot = 0; slot < many; ++slot)
        heap.arm(slot, at_us(static_cast<std::int64_t>(random() % 1'000'000)));
    for (Slot slot = 0; slot < many; ++slot) {
        if (slot % 100 != 0) heap.disarm(slot);
    }
    heap.check_invariants();
    EXPECT_EQ(heap.size(), many / 100);
    Time last = at_us(0);
    while (const auto top = heap.top()) {
        ASSERT_GE(top->deadline, last);
        last = top->deadline;
        heap.disarm(top->slot);
    }
    heap.arm(7, at_us(1));
    heap.check_invariants();
    EXPECT_EQ(heap.top()->slot, 7U);
}

}  // namespace
}  // namespace holdfast::core
