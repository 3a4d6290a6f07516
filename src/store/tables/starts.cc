#include "store/tables/starts.h"

#include <time.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "base/check.h"

namespace holdfast::store {

base::Result<BootClock> BootClock::read() {
    BootClock clock;
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    if (!(file >> clock.boot)) return base::fail("cannot read /proc/sys/kernel/random/boot_id");
    timespec now{};
    if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) return base::fail("cannot read CLOCK_BOOTTIME");
    clock.since_boot = std::chrono::duration_cast<core::Duration>(
        std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec});
    return clock;
}

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
