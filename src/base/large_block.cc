#include "base/large_block.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "base/check.h"

namespace holdfast::base {

namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} * 1024 * 1024;
// Smaller blocks would waste too much of their last page.
constexpr std::size_t huge_block_bytes = 2 * huge_page_bytes;

constexpr std::align_val_t huge_alignment{huge_page_bytes};

// From this size on, zeros are better got from the kernel than written.
constexpr std::size_t mapped_block_bytes = std::size_t{256} * 1024;

constexpr std::size_t page_for(std::size_t bytes) {
    constexpr std::size_t usual_page_bytes = std::size_t{64} * 1024;  // or less
    return bytes < huge_block_bytes ? usual_page_bytes : huge_page_bytes;
}

// `unit` is a power of two.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the unit last
std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) & ~(unit - 1);
}

}  // namespace

void* allocate_block(std::size_t bytes) {
    if (bytes < huge_block_bytes) return ::operator new(bytes);
    return ::operator new(bytes, huge_alignment);
}

void free_block(void* block, std::size_t bytes) {
    if (bytes < huge_block_bytes) {
        ::operator delete(block);
    } else {
        ::operator delete(block, huge_alignment);
    }
}

namespace {

// Zeros. One page too much is mapped, and both ends are cut off: so the block is aligned.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the page last
void* map_aligned(std::size_t size, std::size_t page) {
    void* const mapped =
        ::mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
    char* const begin = static_cast<char*>(mapped);
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const std::size_t before = round_up(address, page) - address;
    if (before > 0) CHECK(::munmap(begin, before) == 0);
    if (before < page) CHECK(::munmap(begin + before + size, page - before) == 0);
    return begin + before;
}

}  // namespace

void* allocate_zeroed(std::size_t bytes) {
    if (bytes < mapped_block_bytes) return std::memset(::operator new(bytes), 0, bytes);
    const std::size_t page = page_for(bytes);
    return map_aligned(round_up(bytes, page), page);
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the present size first
void* resize_zeroed(void* block, std::size_t bytes, std::size_t new_bytes) {
    if (std::min(bytes, new_bytes) < mapped_block_bytes) {
        void* const copy = allocate_zeroed(new_bytes);
        std::memcpy(copy, block, std::min(bytes, new_bytes));
        free_zeroed(block, bytes);
        return copy;
    }
    if (new_bytes <= bytes) {
        char* const end = static_cast<char*>(block) + new_bytes;
        if (new_bytes < bytes) CHECK(::munmap(end, bytes - new_bytes) == 0);
        return block;
    }
    void* const target = map_aligned(new_bytes, page_for(new_bytes));
    void* const moved = ::mremap(block, bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    CHECK(moved == target);
    return moved;
}

void free_zeroed(void* block, std::size_t bytes) {
    if (bytes < mapped_block_bytes) return ::operator delete(block);
    CHECK(::munmap(block, round_up(bytes, page_for(bytes))) == 0);
}

void prefer_huge_pages(void* block, std::size_t bytes) {
    if (bytes < huge_block_bytes) return;
    static_cast<void>(::madvise(block, bytes, MADV_HUGEPAGE));
}

}  // namespace holdfast::base
