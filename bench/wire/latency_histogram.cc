#include "wire/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace holdfast::bench {

// Values below 32 have a bucket each. A larger one is shifted until five bits follow its first one:
// the shift chooses the row of 32 buckets, those five bits the bucket in it.
std::size_t LatencyHistogram::bucket_of(std::uint64_t value) {
    constexpr std::uint64_t steps = 1U << step_bits;
    if (value < steps) return value;
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - step_bits - 1;
    return (static_cast<std::size_t>(shift) << step_bits) + (value >> shift);
}

std::uint64_t LatencyHistogram::largest_in(std::size_t bucket) {
    constexpr std::uint64_t steps = 1U << step_bits;
    if (bucket < steps) return bucket;
    const std::size_t shift = (bucket >> step_bits) - 1;
    const std::uint64_t first_bits = steps + bucket % steps;
    return ((first_bits + 1) << shift) - 1;
}

void LatencyHistogram::add(std::chrono::nanoseconds latency) {
    constexpr std::int64_t value_max = (std::int64_t{1} << value_bits) - 1;
    const auto value = std::clamp<std::int64_t>(latency.count(), 0, value_max);
    ++buckets_[bucket_of(static_cast<std::uint64_t>(value))];
    ++count_;
}

std::chrono::nanoseconds LatencyHistogram::quantile(double share) const {
    auto left = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    for (std::size_t bucket = 0; bucket < buckets_.size() && left > 0; ++bucket) {
        left -= std::min(left, buckets_[bucket]);
        if (left == 0) return std::chrono::nanoseconds(largest_in(bucket));
    }
    return std::chrono::nanoseconds::zero();
}

}  // namespace holdfast::bench
