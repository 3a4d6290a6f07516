#pragma once

// LatencyHistogram: how long things took, in buckets that grow with the value.
//
// Each power of two is cut into 32 buckets, so a quantile is known to about 3 %, whatever its size,
// and adding a value costs a few instructions and no memory. Times beyond 18 minutes count as that.
//
// Thread safety: none.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace holdfast::base {

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
