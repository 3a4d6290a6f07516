#include "embedded/lease_board.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace holdfast::embedded {
namespace {

core::Token numbered(std::uint64_t number) {
    return {.fence = core::Fence{number}, .secret = core::Secret{number + 7}};
}

Lease of_holder(std::string name) {
    Lease lease{.scope = LockScope::Named{"x"}};
    lease.metadata = std::move(name);
    return lease;
}

TEST(LeaseBoard, ShowsWhatWasPutThereLast) {
    LeaseBoard board(64);
    EXPECT_EQ(board.find(numbered(1)), nullptr);
    board.put(numbered(1), of_holder("a"));
    const auto before = board.find(numbered(1));
    ASSERT_TRUE(before);
    board.put(numbered(1), of_holder("b"));
    EXPECT_EQ(board.find(numbered(1))->metadata, "b");
    EXPECT_EQ(before->metadata, "a") << "what was read stays good";
    board.take_off(core::Fence{1});
    EXPECT_EQ(board.find(numbered(1)), nullptr);
}

TEST(LeaseBoard, ShowsNothingToAReaderThatGuesses) {
    LeaseBoard board(64);
    board.put(numbered(1), of_holder("a"));
    EXPECT_EQ(board.find({.fence = core::Fence{1}, .secret = core::Secret{1}}), nullptr);
}

TEST(LeaseBoard, ForgetsTheOldestWhenItIsFull) {
    LeaseBoard board(128);
    for (std::uint64_t number = 0; number < 1000; ++number) {
        board.put(numbered(number), of_holder("a"));
        EXPECT_LE(board.size(), 128U);
    }
    for (std::uint64_t number = 0; number < 1000; ++number) {
        EXPECT_EQ(board.find(numbered(number)) != nullptr, number >= 872) << number;
    }
    for (std::uint64_t number = 872; number < 1000; ++number) board.take_off(core::Fence{number});
    EXPECT_EQ(board.size(), 0U);
}

TEST(LeaseBoard, HasRoomForNewLeasesAfterItWasCleared) {
    LeaseBoard board(128);
    for (std::uint64_t number = 0; number < 100; ++number) {
        board.put(numbered(number), of_holder("a"));
    }
    board.clear();
    EXPECT_EQ(board.size(), 0U);
    for (std::uint64_t number = 0; number < 128; ++number) {
        board.put(numbered(number), of_holder("a"));
    }
    EXPECT_EQ(board.size(), 128U);
}

TEST(LeaseBoard, MayHaveNoRoomAtAll) {
    LeaseBoard board(0);
    board.put(numbered(1), of_holder("a"));
    EXPECT_EQ(board.size(), 0U);
}

TEST(LeaseBoard, IsReadWhileItChanges) {
    LeaseBoard board(64);
    std::vector<std::jthread> readers;
    readers.reserve(3);
    for (int reader = 0; reader < 3; ++reader) {
        readers.emplace_back([&board](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                const auto lease = board.find(numbered(5));
                EXPECT_TRUE(!lease || lease->metadata == "a name that needs memory of its own");
            }
        });
    }
    for (int round = 0; round < 2000; ++round) {
        board.put(numbered(5), of_holder("a name that needs memory of its own"));
        if (round % 2 == 0) board.take_off(core::Fence{5});
        if (round % 100 == 0) board.clear();
    }
}

}  // namespace
}  // namespace holdfast::embedded
