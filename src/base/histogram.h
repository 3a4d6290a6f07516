#pragma once

// Two histograms: one with few bounds, for metrics, and one with fine buckets, for quantiles.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast::base {

// Histogram: how often values fell between bounds.
//
// Thread safety: none; a value that may be copied to another thread.

class Histogram {
  public:
    // Bounds are first_bound, twice that, and so on; `bounds` of them. REQUIRES: at least one.
    Histogram(double first_bound, std::size_t bounds) : counts_(bounds + 1) {
        for (double bound = first_bound; bounds_.size() < bounds; bound *= 2) {
            bounds_.push_back(bound);
        }
    }
    // REQUIRES: the bounds grow, and there is at least one.
    explicit Histogram(std::span<const double> bounds)
        : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {}

    // What was counted elsewhere. REQUIRES: one count more than bounds.
    Histogram(std::span<const double> bounds, std::vector<std::uint64_t> counts, double sum);

    // A value belongs to the first bound it does not exceed.
    void add(double value) {
        std::size_t index = 0;
        while (index < bounds_.size() && value > bounds_[index]) ++index;
        ++counts_[index];
        ++count_;
        sum_ += value;
    }

    // How many fell in each; the last is for those beyond all bounds.
    [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }
    [[nodiscard]] double bound(std::size_t index) const { return bounds_[index]; }
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] double sum() const { return sum_; }

  private:
    std::vector<double> bounds_;
    std::vector<std::uint64_t> counts_;
    std::uint64_t count_ = 0;
    double sum_ = 0;
};

// LatencyHistogram: how long things took, in buckets that grow with the value.
//
// Each power of two is cut into 1024 buckets, so a quantile is at most 0.1 % larger than the value
// that it stands for, whatever its size. Adding a value costs a few instructions. The smallest and
// the largest value are kept as they are. Times beyond 18 minutes share the last bucket.
//
// Thread safety: none.

class LatencyHistogram {
  public:
    void add(std::chrono::nanoseconds latency);
    // All that somebody else has measured.
    void add(const LatencyHistogram& other);

    [[nodiscard]] std::uint64_t count() const { return count_; }
    // Exactly; 0 when there are no values.
    [[nodiscard]] std::chrono::nanoseconds min() const;
    [[nodiscard]] std::chrono::nanoseconds max() const { return max_; }

    // The value that this share of all values does not exceed; 0 when there are none.
    // REQUIRES: 0 < share <= 1.
    [[nodiscard]] std::chrono::nanoseconds quantile(double share) const;

    // How many values are at most this, as far as the buckets tell.
    [[nodiscard]] std::uint64_t count_up_to(std::chrono::nanoseconds latency) const;

  private:
    static constexpr unsigned step_bits = 10;  // 1024 buckets to a power of two
    static constexpr unsigned value_bits = 40;

    static std::size_t bucket_of(std::uint64_t value);
    static std::size_t bucket_of(std::chrono::nanoseconds latency);
    static std::uint64_t largest_in(std::size_t bucket);

    std::uint64_t count_ = 0;
    std::chrono::nanoseconds min_ = std::chrono::nanoseconds::max();
    std::chrono::nanoseconds max_{0};
    std::vector<std::uint64_t> buckets_ =
        std::vector<std::uint64_t>(std::size_t{value_bits - step_bits + 1} << step_bits);
};

}  // namespace holdfast::base
