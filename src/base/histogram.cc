#include "base/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace holdfast::base {

Histogram::Histogram(std::span<const double> bounds, std::vector<std::uint64_t> counts, double sum)
    : bounds_(bounds.begin(), bounds.end()),
      counts_(std::move(counts)),
      count_(std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0})),
      sum_(sum) {
    CHECK(counts_.size() == bounds_.size() + 1);
}

// Values below 1024 have a bucket each. A larger one is shifted until ten bits follow its first one:
// the shift chooses the row of 1024 buckets, those ten bits the bucket in it.
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
    min_ = std::min(min_, latency);
    max_ = std::max(max_, latency);
}

void LatencyHistogram::add(const LatencyHistogram& other) {
    std::transform(buckets_.begin(), buckets_.end(), other.buckets_.begin(), buckets_.begin(),
                   std::plus<>());
    count_ += other.count_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

std::chrono::nanoseconds LatencyHistogram::min() const {
    return count_ == 0 ? std::chrono::nanoseconds::zero() : min_;
}

std::chrono::nanoseconds LatencyHistogram::quantile(double share) const {
    auto left = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    for (std::size_t bucket = 0; bucket < buckets_.size() && left > 0; ++bucket) {
        left -= std::min(left, buckets_[bucket]);
        if (left > 0) continue;
        // The last bucket has no upper end.
        if (bucket + 1 == buckets_.size()) return max_;
        return std::min(max_, std::chrono::nanoseconds(largest_in(bucket)));
    }
    return std::chrono::nanoseconds::zero();
}

std::uint64_t LatencyHistogram::count_up_to(std::chrono::nanoseconds latency) const {
    const auto end = buckets_.begin() + static_cast<std::ptrdiff_t>(bucket_of(latency)) + 1;
    return std::accumulate(buckets_.begin(), end, std::uint64_t{0});
}

}  // namespace holdfast::base
