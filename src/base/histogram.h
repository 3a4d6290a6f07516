#pragma once

// Histogram: how often values fell between bounds that double.
//
// Thread safety: none; a value that may be copied to another thread.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::base {

class Histogram {
  public:
    // Bounds are first_bound, twice that, and so on; `bounds` of them. REQUIRES: at least one.
    Histogram(double first_bound, std::size_t bounds)
        : first_bound_(first_bound), counts_(bounds + 1) {}

    // A value belongs to the first bound it does not exceed.
    void add(double value) {
        std::size_t index = 0;
        double bound = first_bound_;
        while (value > bound && index + 1 < counts_.size()) {
            bound *= 2;
            ++index;
        }
        ++counts_[index];
        ++count_;
        sum_ += value;
    }

    // How many fell in each; the last is for those beyond all bounds.
    [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
    [[nodiscard]] double bound(std::size_t index) const {
        return first_bound_ * static_cast<double>(std::uint64_t{1} << index);
    }
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] double sum() const { return sum_; }

  private:
    double first_bound_;
    std::vector<std::uint64_t> counts_;
    std::uint64_t count_ = 0;
    double sum_ = 0;
};

}  // namespace holdfast::base
