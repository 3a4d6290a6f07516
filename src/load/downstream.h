#pragma once

// Downstream: what a lock protects, as it should behave.
//
// It remembers the largest fencing number it was written under and refuses smaller ones, so that a
// writer who stood still for longer than its lease can do no harm.
//
// Thread safety: none.

#include <cstdint>

namespace holdfast::load {

class Downstream {
  public:
    // Whether the write is taken.
    bool write(std::uint64_t fencing_number) {
        if (fencing_number < largest_) {
            ++refused_;
            return false;
        }
        largest_ = fencing_number;
        ++accepted_;
        return true;
    }

    [[nodiscard]] std::uint64_t largest() const { return largest_; }
    [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

  private:
    std::uint64_t largest_ = 0;
    std::uint64_t accepted_ = 0;
    std::uint64_t refused_ = 0;
};

}  // namespace holdfast::load
