#pragma once

// Two histograms: one with few bounds, for metrics, and one with fine buckets, for quantiles.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::base {

// Histogram: how often values fell between bounds that double.
//
// Thread safety: none; a value that may be copied to another thread.

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

// LatencyHistogram: how long things took, in buckets that grow with the value.
//
// Each power of two is cut into 32 buckets, so a quantile is known to about 3 %, whatever its size,
// and adding a value costs a few instructions and no memory. Times beyond 18 minutes count as that.
//
// Thread safety: none.

class LatencyHistogram {
  public:
    void add(std::chrono::nanoseconds latency);
    // All that somebody else has measured.
    void add(const LatencyHistogram& other);

    [[nodiscard]] std::uint64_t count() const { return count_; }

    // The value that this share of all values does not exceed; 0 when there are none.
    // REQUIRES: 0 < share <= 1.
    [[nodiscard]] std::chrono::nanoseconds quantile(double share) const;

    // How many values are at most this, as far as the buckets tell.
    [[nodiscard]] std::uint64_t count_up_to(std::chrono::nanoseconds latency) const;

  private:
    static constexpr unsigned step_bits = 5;  // 32 buckets to a power of two
    static constexpr unsigned value_bits = 40;

    static std::size_t bucket_of(std::uint64_t value);
    static std::size_t bucket_of(std::chrono::nanoseconds latency);
    static std::uint64_t largest_in(std::size_t bucket);

    std::uint64_t count_ = 0;
    std::array<std::uint64_t, (value_bits - step_bits + 1) << step_bits> buckets_{};
};

}  // namespace holdfast::base
