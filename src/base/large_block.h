#pragma once

// Memory for large tables, in pages that suit them.
//
// A table of a hundred megabytes in 4 KiB pages needs more page translations than the processor
// remembers: every look-up then costs two cache misses instead of one. Large blocks are therefore
// aligned to huge pages, and the kernel can be asked to use these. It may not; nothing depends on
// it.

#include <cstddef>

namespace holdfast::base {

// At least `bytes` of memory, aligned for anything. Freed by free_block with the same size.
[[nodiscard]] void* allocate_block(std::size_t bytes);
void free_block(void* block, std::size_t bytes);

// Asks for huge pages under a block: for one that will be filled. (One that may stay nearly empty
// would cost whole megabytes.) Does nothing for small blocks.
void prefer_huge_pages(void* block, std::size_t bytes);

// The same for a block of zeros that is filled bit by bit: a large one costs nothing until it is
// used, page by page. Freed by free_zeroed with the same size. The pages are small ones, until
// prefer_huge_pages() is called: the first use of a huge page may take milliseconds.
[[nodiscard]] void* allocate_zeroed(std::size_t bytes);
void free_zeroed(void* block, std::size_t bytes);

// Makes a block of allocate_zeroed larger or smaller. It keeps its content, as far as that fits; what is
// new is zero. A large one is not copied: the kernel gives its pages another address. REQUIRES: both
// sizes are powers of two.
[[nodiscard]] void* resize_zeroed(void* block, std::size_t bytes, std::size_t new_bytes);

// For standard containers that grow: all of a new block is about to be used.
template <class T>
struct BlockAllocator {
    using value_type = T;

    BlockAllocator() = default;
    template <class U>
    BlockAllocator(const BlockAllocator<U>& /*other*/) {}  // as containers want it

    [[nodiscard]] T* allocate(std::size_t count) {
        void* const block = allocate_block(count * sizeof(T));
        prefer_huge_pages(block, count * sizeof(T));
        return static_cast<T*>(block);
    }
    void deallocate(T* block, std::size_t count) { free_block(block, count * sizeof(T)); }

    template <class U>
    bool operator==(const BlockAllocator<U>& /*other*/) const {
        return true;
    }
};

}  // namespace holdfast::base
