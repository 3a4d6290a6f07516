#pragma once

// GrowingArray<T>: values in a row that can become very many without a long pause.
//
// It doubles as a vector does, but a large one is not copied (resize_zeroed): what an addition costs
// does not depend on how many values there are. For values that can be copied byte by byte.
//
// Thread safety: none.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/large_block.h"

namespace holdfast::base {

template <class T>
class GrowingArray {
    static_assert(std::is_trivially_copyable_v<T> && std::has_single_bit(sizeof(T)));

  public:
    GrowingArray() = default;
    GrowingArray(const GrowingArray&) = delete;
    GrowingArray& operator=(const GrowingArray&) = delete;
    ~GrowingArray() { reset(); }

    // So many values may be read and written: all bytes of those that were never written are zero.
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    T& operator[](std::size_t index) { return values_[index]; }
    const T& operator[](std::size_t index) const { return values_[index]; }

    // Makes the capacity at least `count`.
    void reserve(std::size_t count) {
        if (count <= capacity_) return;
        constexpr std::size_t capacity_min = 64;
        resize(std::bit_ceil(std::max(count, capacity_min)));
    }

    // Makes the capacity smaller. REQUIRES: a power of two.
    void shrink(std::size_t capacity) {
        if (capacity < capacity_) resize(capacity);
    }

    // Gives all memory back.
    void reset() {
        if (values_ != nullptr) free_zeroed(values_, capacity_ * sizeof(T));
        values_ = nullptr;
        capacity_ = 0;
    }

  private:
    void resize(std::size_t capacity) {
        const std::size_t bytes = capacity * sizeof(T);
        values_ = static_cast<T*>(values_ == nullptr
                                      ? allocate_zeroed(bytes)
                                      : resize_zeroed(values_, capacity_ * sizeof(T), bytes));
        capacity_ = capacity;
        prefer_huge_pages(values_, bytes);
    }

    T* values_ = nullptr;
    std::size_t capacity_ = 0;
};

}  // namespace holdfast::base
