#include "base/large_block.h"

#include <sys/mman.h>

#include <new>

namespace holdfast::base {

namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} * 1024 * 1024;
// Smaller blocks would waste too much of their last page.
constexpr std::size_t huge_block_bytes = 2 * huge_page_bytes;

constexpr std::align_val_t huge_alignment{huge_page_bytes};

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

void prefer_huge_pages(void* block, std::size_t bytes) {
    if (bytes < huge_block_bytes) return;
    static_cast<void>(::madvise(block, bytes, MADV_HUGEPAGE));
}

}  // namespace holdfast::base
