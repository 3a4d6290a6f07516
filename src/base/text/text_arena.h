#pragma once

// TextArena: a place for texts that are forgotten together.
//
// A text stays where it is until then, also when the arena is moved or swapped. Once it has been
// cleared, the next ones take no new memory. Not thread-safe; may be handed from thread to thread.

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::base {

class TextArena {
  public:
    TextArena() = default;
    TextArena(TextArena&& other) noexcept { swap(other); }
    TextArena& operator=(TextArena&& other) noexcept {
        TextArena(std::move(other)).swap(*this);
        return *this;
    }
    TextArena(const TextArena&) = delete;
    TextArena& operator=(const TextArena&) = delete;
    ~TextArena() = default;

    // Room for `size` characters.
    [[nodiscard]] char* take(std::size_t size) {
        if (block_size_ - block_used_ < size) begin_block(size);
        char* const place = block_.get() + block_used_;
        block_used_ += size;
        return place;
    }

    // A copy of `text`.
    [[nodiscard]] std::string_view keep(std::string_view text) {
        if (text.empty()) return {};
        char* const place = take(text.size());
        std::memcpy(place, text.data(), text.size());
        return {place, text.size()};
    }

    // Forgets all texts. Keeps room for as many as there usually are.
    void clear();
    void swap(TextArena& other) noexcept;

    // The memory it has taken.
    [[nodiscard]] std::size_t bytes() const { return block_size_ + full_bytes_; }

  private:
    void begin_block(std::size_t size);

    // A block that is filled, and those that are full.
    std::unique_ptr<char[]> block_;
    std::size_t block_size_ = 0, block_used_ = 0;
    std::vector<std::unique_ptr<char[]>> full_blocks_;
    std::size_t full_bytes_ = 0;
};

}  // namespace holdfast::base
