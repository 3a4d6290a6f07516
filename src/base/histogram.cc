#include "base/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

namespace holdfast::base {

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

std::size_t LatencyHistogram::bucket_of(std::chrono::nanoseconds latency) {
    constexpr std::int64_t value_max = (std::int64_t{1} << value_bits) - 1;
    const auto value = std::clamp<std::int64_t>(latency.count(), 0, value_max);
    return bucket_of(static_cast<std::uint64_t>(value));
}

void LatencyHistogram::add(std::chrono::nanoseconds latency) {
    ++buckets_[bucket_of(latency)];
    ++count_;
}

void LatencyHistogram::add(const LatencyHistogram& other) {
    std::transform(buckets_.begin(), buckets_.end(), other.buckets_.begin(), buckets_.begin(),
                   std::plus<>());
    count_ += other.count_;
}

std::chrono::nanoseconds LatencyHistogram::quantile(double share) const {
    auto left = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    for (std::size_t bucket = 0; bucket < buckets_.size() && left > 0; ++bucket) {
        left -= std::min(left, buckets_[bucket]);
        if (left == 0) return std::chrono::nanoseconds(largest_in(bucket));
    }
    return std::chrono::nanoseconds::zero();
}

std::uint64_t LatencyHistogram::count_up_to(std::chrono::nanoseconds latency) const {
    const auto end = buckets_.begin() + static_cast<std::ptrdiff_t>(bucket_of(latency)) + 1;
    return std::accumulate(buckets_.begin(), end, std::uint64_t{0});
}

}  // namespace holdfast::base
