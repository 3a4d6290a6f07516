#include "net/http/request_counts.h"

#include <algorithm>

namespace holdfast::net {

namespace {

using std::chrono::nanoseconds;

// The bounds as whole numbers: comparing these costs less.
constexpr auto bounds_ns = [] {
    std::array<std::int64_t, RouteCounts::bounds_seconds.size()> bounds{};
    for (std::size_t index = 0; index < bounds.size(); ++index) {
        bounds[index] = static_cast<std::int64_t>(RouteCounts::bounds_seconds[index] * 1e9 + 0.5);
    }
    return bounds;
}();

}  // namespace

void RouteCounts::add_status(int status) {
    for (Status& one : statuses_) {
        const int known = one.status.load(std::memory_order_relaxed);
        const bool is_free = known == 0;
        if (known != status && !is_free && &one != &statuses_.back()) continue;
        if (is_free) one.status.store(status, std::memory_order_relaxed);
        return add(one.count, 1);
    }
}

void RouteCounts::add_duration(nanoseconds took) {
    const std::int64_t value = std::max<std::int64_t>(took.count(), 0);
    std::size_t index = 0;
    while (index < bounds_ns.size() && value > bounds_ns[index]) ++index;
    add(durations_[index], 1);
    add(nanoseconds_, static_cast<std::uint64_t>(value));
}

void RouteCounts::add_to(RequestFigures& figures) const {
    for (const Status& one : statuses_) {
        const std::uint64_t count = one.count.load(std::memory_order_relaxed);
        if (count > 0) figures.statuses[one.status.load(std::memory_order_relaxed)] += count;
    }
    figures.durations.resize(durations_.size());
    for (std::size_t index = 0; index < durations_.size(); ++index) {
        figures.durations[index] += durations_[index].load(std::memory_order_relaxed);
    }
    figures.seconds += static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
}

void RequestCounts::add_to(std::vector<RequestFigures>& figures) const {
    figures.resize(names_.size() + 1);
    for (std::size_t number = 0; number < figures.size(); ++number) {
        const RouteName name = number > 0 ? names_[number - 1] : RouteName{"other", "other"};
        figures[number].route = name.pattern;
        figures[number].method = name.method;
        routes_[number].add_to(figures[number]);
    }
}

}  // namespace holdfast::net
