#include "store/tables/starts.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/check.h"

namespace holdfast::store {

LeaseAges::LeaseAges(const std::vector<Start>& starts) {
    CHECK(!starts.empty());
    const BootClock& now = starts.back().at;
    core::Duration begin = now.since_boot;
    std::set<std::string> boots;
    for (auto start = starts.rbegin(); start != starts.rend(); ++start) {
        boots.insert(start->at.boot);
        if (start->at.boot == now.boot) begin = std::min(begin, start->at.since_boot);
        const bool is_over = boots.size() > boots_max;
        ages_.push_back({.first_start = start->number,
                         .used = is_over ? core::Duration::max() : now.since_boot - begin});
    }
    std::ranges::reverse(ages_);
}

core::Duration LeaseAges::remaining(std::int64_t start_number, core::Duration time) const {
    const auto age = std::ranges::upper_bound(ages_, start_number, {}, &Age::first_start);
    if (age == ages_.end()) return time;
    return std::max(time, age->used) - age->used;
}

}  // namespace holdfast::store
