#include "base/text/text_arena.h"

#include <algorithm>

namespace holdfast::base {

// Begins a block with room for `size` characters.
void TextArena::begin_block(std::size_t size) {
    constexpr std::size_t usual_size = 16 * 1024;
    if (block_) full_blocks_.push_back(std::move(block_));
    full_bytes_ += block_size_;
    block_size_ = std::max(usual_size, size);
    block_ = std::make_unique_for_overwrite<char[]>(block_size_);
    block_used_ = 0;
}

void TextArena::clear() {
    constexpr std::size_t kept_size = 256 * 1024;
    full_blocks_.clear();
    full_bytes_ = 0;
    block_used_ = 0;
    if (block_size_ <= kept_size) return;
    block_.reset();
    block_size_ = 0;
}

void TextArena::swap(TextArena& other) noexcept {
    block_.swap(other.block_);
    std::swap(block_size_, other.block_size_);
    std::swap(block_used_, other.block_used_);
    full_blocks_.swap(other.full_blocks_);
    std::swap(full_bytes_, other.full_bytes_);
}

}  // namespace holdfast::base
