// Many threads at once, in real time: never two holders, and everybody gets on.

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "embedded/test_manager.h"
#include "store/tables/test_leases.h"

namespace holdfast::embedded {
namespace {

using namespace testing;

// The thing that a lock protects. It checks that nobody else uses it at the same time.
struct Protected {
    std::atomic<int> writers = 0;
    std::atomic<int> readers = 0;
    std::uint64_t last_fence = 0;  // not atomic: only a writer touches it

    void write(std::uint64_t fence) {
        EXPECT_EQ(writers.fetch_add(1), 0);
        EXPECT_EQ(readers.load(), 0);
        EXPECT_GT(fence, last_fence);
        last_fence = fence;
        std::this_thread::yield();
        --writers;
    }
    void read() {
        ++readers;
        EXPECT_EQ(writers.load(), 0);
        std::this_thread::yield();
        --readers;
    }
};

class Crowd {
  public:
    explicit Crowd(LockManager& manager) : manager_(manager) {}

    static constexpr int size = 8;

    void run(int rounds) {
        std::vector<std::jthread> members;
        members.reserve(size);
        for (int member = 0; member < size; ++member) {
            members.emplace_back([this, member, rounds] {
                std::mt19937 random(static_cast<unsigned>(member));
                for (int round = 0; round < rounds; ++round) act(member, random);
            });
        }
    }

    std::atomic<int> grants = 0;

  private:
    void act(int member, std::mt19937& random) {
        const std::size_t index = random() % protected_.size();
        LeaseRequest request = ask_for(LockScope::Inode{index}, "m" + std::to_string(member));
        request.ttl = 10min;  // not to end because the machine is slow
        if (random() % 3 == 0) request.mode = LockMode::shared;
        switch (random() % 4) {
            case 0: return use(manager_.try_acquire(request), index);
            case 1: return use(manager_.acquire(request, 1ms), index);
            case 2: {
                std::stop_source stop;
                const std::jthread canceller([&stop] { stop.request_stop(); });
                return use(manager_.acquire(request, forever, stop.get_token()), index);
            }
            default: break;
        }
        auto handle = manager_.hold(request, forever);
        ASSERT_TRUE(handle);
        enter(handle->lease(), index);
        EXPECT_TRUE(handle->is_guaranteed());
    }

    void use(const LockResult<Lease>& lock, std::size_t index) {
        if (!lock) return;
        enter(*lock, index);
        EXPECT_TRUE(manager_.release(*lock));
    }

    void enter(const Lease& lock, std::size_t index) {
        ++grants;
        if (lock.mode == LockMode::shared) {
            protected_[index].read();
        } else {
            protected_[index].write(lock.fencing_token);
        }
    }

    LockManager& manager_;
    std::array<Protected, 3> protected_;
};

void expect_nothing_is_left(LockManager& manager) {
    // What was cancelled or let go may be on its way back.
    for (std::uint64_t index = 0; index < 3; ++index) {
        EXPECT_TRUE(
            manager.with_lock(ask_for(LockScope::Inode{index}), forever, [](LockHandle&) {}));
    }
    const auto locks = manager.list();
    ASSERT_TRUE(locks);
    EXPECT_TRUE(locks->empty());
}

TEST(LockManagerStress, NeverTwoHoldersInMemory) {
    auto manager = LockManager::open();
    ASSERT_TRUE(manager);
    Crowd crowd(*manager);
    crowd.run(300);
    EXPECT_GT(crowd.grants, Crowd::size * 300 / 4)
        << "every fourth at least waits until it is served";
    expect_nothing_is_left(*manager);
}

TEST(LockManagerStress, NeverTwoHoldersOnAFile) {
    const store::testing::TemporaryFolder folder;
    auto manager = LockManager::open({.path = folder / "locks.db"});
    ASSERT_TRUE(manager);
    Crowd crowd(*manager);
    crowd.run(40);
    EXPECT_GT(crowd.grants, 0);
    expect_nothing_is_left(*manager);
}

TEST(LockManagerStress, ManyHandlesAreRenewedByOneThread) {
    auto manager = LockManager::open();
    ASSERT_TRUE(manager);
    std::atomic<int> lost = 0;
    std::vector<LockHandle> handles;
    const auto begin = BootClock::now();
    for (std::uint64_t inode = 0; inode < 500; ++inode) {
        // Long enough for a machine that stops for a minute, renewed often all the same.
        auto handle =
            manager->hold({.scope = LockScope::Inode{inode}, .holder = "a", .ttl = 5min}, forever,
                          {.every = 10ms, .on_lost = [&](const GuardLost&) { ++lost; }});
        ASSERT_TRUE(handle);
        handles.push_back(std::move(*handle));
    }
    const auto is_renewed = [&](const LockHandle& handle) {
        return handle.lease().lasts_until > begin + 5min + 200ms;
    };
    for (const LockHandle& handle : handles) {
        while (!is_renewed(handle) && handle.is_guaranteed()) std::this_thread::yield();
        EXPECT_TRUE(handle.is_guaranteed());
    }
    EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace holdfast::embedded
