// Nothing leaks: the tests replace the allocation functions of this program and count.

#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "core/containers/slab.h"
#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace {

std::size_t allocated = 0;
std::size_t large_allocations = 0;  // chunks of records are such, and hardly anything else
constexpr std::size_t large = 1'000'000;

void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, size) != 0) std::abort();
    allocated += malloc_usable_size(memory);
    large_allocations += size >= large ? 1 : 0;
    return memory;
}

void give_back(void* memory) {
    if (memory != nullptr) allocated -= malloc_usable_size(memory);
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
    return allocate(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, std::align_val_t) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    give_back(memory);
}
void operator delete(void* memory) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    give_back(memory);
}

namespace holdfast::core {
namespace {

using namespace testing;

// A table keeps one chunk of each kind of record once it has had one: address space, hardly memory.
// So every test counts from a table that has been used a little.
void use_a_little(LockTable& table) {
    const SessionId session = table.open_session(at(0s), {.name = "conn"});
    const Scope range = Scope::of_range(7, {0, 10});
    table.acquire(at(0s), in(session, ask(range, "a")));
    table.acquire(at(0s), in(session, queue(ask(range, "b"), 10s)));
    table.end_session(at(0s), session);
    table.clear_changes();
}

// What a table may still have after much work: some buffers.
constexpr std::size_t kept_max = 1'500'000;
constexpr int many = 100'000;

TEST(LockTableMemory, ReturnsWhenLocksAreReleased) {
    LockTable table;
    std::vector<Token> tokens(many);
    use_a_little(table);
    const std::size_t before = allocated;
    for (int round = 0; round < 2; ++round) {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const std::string name = "lock number " + std::to_string(i);
            tokens[i] = table.acquire(at(0s), ask(name, "a")).lease.token;
            table.clear_changes();
        }
        EXPECT_GT(allocated, before + 10'000'000);  // neither indexes nor deadlines are from malloc
        for (const Token& token : tokens) {
            table.release(at(0s), {.token = token});
            table.clear_changes();
        }
        EXPECT_LT(allocated, before + kept_max);
    }
}

TEST(LockTableMemory, ReturnsWhenEverythingExpiresAtOnce) {
    LockTable table;
    use_a_little(table);
    const std::size_t before = allocated;
    for (int i = 0; i < many; ++i) {
        table.acquire(at(0s), ask("lock number " + std::to_string(i), "a"));
        table.clear_changes();
    }
    advance_fully(table, at(30s));
    table.clear_changes();
    EXPECT_LT(allocated, before + kept_max);
}

TEST(LockTableMemory, ReturnsWhenWaitersAndRangesGo) {
    LockTable table;
    use_a_little(table);
    const std::size_t before = allocated;
    const SessionId session = table.open_session(at(0s), {.name = "conn"});
    for (std::uint64_t i = 0; i < many; ++i) {
        const Scope range = Scope::of_range(7, {i * 10, i * 10 + 10});
        table.acquire(at(0s), in(session, ask(range, "a")));
        table.acquire(at(0s), in(session, queue(ask(range, "b"), 10s)));
        table.clear_changes();
    }
    table.end_session(at(1s), session);
    table.clear_changes();
    EXPECT_LT(allocated, before + kept_max);
}

TEST(LockTableMemory, ReturnsWhenTwoPhaseEntriesEnd) {
    LockTable table;
    const SessionId session = table.open_session(at(0s), {.name = "conn"});
    std::vector<Token> tokens(many);
    const auto enqueue_and_release = [&](const std::string& prefix) {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const std::string name = prefix + std::to_string(i);
            tokens[i] = table.enqueue(at(0s), in(session, ask(name, "conn"))).lease.token;
            table.clear_changes();
        }
        for (const Token& token : tokens) {
            table.release(at(0s), {.token = token});
            table.clear_changes();
        }
    };
    enqueue_and_release("a key that is too long to be kept in place: ");
    const std::size_t before = allocated;
    enqueue_and_release("a key that nobody has used before: ");
    EXPECT_LT(allocated, before + kept_max);
}

// The number of locks at which one more needs another chunk of records.
constexpr int chunk = 65'536;

TEST(LockTableMemory, IsNotAllocatedAtTheBorderOfAChunk) {
    LockTable table;
    for (int i = 0; i < chunk; ++i) {
        table.acquire(at(0s), ask("lock number " + std::to_string(i), "a"));
        table.clear_changes();
    }
    const auto take_and_give_back = [&table] {
        const Token token = table.acquire(at(0s), ask("one more", "a")).lease.token;
        table.release(at(0s), {.token = token});
        table.clear_changes();
    };
    take_and_give_back();
    const std::size_t before = large_allocations;
    for (int i = 0; i < 100; ++i) take_and_give_back();
    EXPECT_EQ(large_allocations, before);
}

struct Record {
    std::array<std::uint64_t, 8> words{};
};

// Counts what a slab allocates while `count` records are added to it and erased again.
std::size_t count_chunks(Slab<Record>& slab, int count) {
    const std::size_t before = large_allocations;
    std::vector<Slot> slots;
    slots.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) slots.push_back(slab.emplace());
    for (const Slot slot : slots) slab.erase(slot);
    // What is to be freed goes a few places at a time.
    constexpr int enough = 10'000;
    for (int i = 0; i < enough; ++i) slab.erase(slab.emplace());
    return large_allocations - before;
}

TEST(SlabMemory, IsKeptForOneChunkWhileThereAreRecords) {
    Slab<Record> slab;
    slab.emplace();
    EXPECT_EQ(count_chunks(slab, chunk), 1U);
    EXPECT_EQ(count_chunks(slab, chunk), 0U) << "the spare one";
    EXPECT_EQ(count_chunks(slab, 1), 0U);
    EXPECT_EQ(count_chunks(slab, 3 * chunk), 2U) << "one of the three was there";
    EXPECT_EQ(count_chunks(slab, 3 * chunk), 2U) << "and one alone was kept";
}

TEST(SlabMemory, ReturnsWhenThereIsNoRecord) {
    Slab<Record> slab;
    const Slot first = slab.emplace();
    const std::size_t before = allocated;
    count_chunks(slab, 3 * chunk);
    slab.erase(first);
    EXPECT_LT(allocated, before + large);
    EXPECT_EQ(count_chunks(slab, 1), 1U) << "a chunk that was full is not kept without records";
    EXPECT_EQ(count_chunks(slab, 1), 0U) << "a little used one is";
}

TEST(LockTableMemory, IsNotAllocatedByRenewalsAndRefusals) {
    LockTable table;
    AcquireRequest request = ask("job", "laptop1");
    request.renew_own = true;
    const Token token = table.acquire(at(0s), request).lease.token;
    const AcquireRequest other = ask("job", "laptop2");
    table.acquire(at(0s), request);
    table.clear_changes();
    const std::size_t before = allocated;
    for (int i = 0; i < 1000; ++i) {
        table.acquire(at(1s), request);
        table.acquire(at(1s), other);
        table.renew(at(1s), {.token = token});
        table.clear_changes();
        ASSERT_EQ(allocated, before);
    }
}

}  // namespace
}  // namespace holdfast::core
