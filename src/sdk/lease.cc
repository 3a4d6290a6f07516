#include "holdfast/lease.h"

#include <algorithm>

namespace holdfast {

std::chrono::milliseconds Lease::margin() const {
    constexpr std::chrono::milliseconds margin_max{5'000};
    return std::min(margin_max, ttl / 6);
}

// Rounded down: what is promised must be true.
std::chrono::milliseconds Lease::time_guaranteed() const {
    const auto left =
        std::chrono::floor<std::chrono::milliseconds>(lasts_until - BootClock::now()) - margin();
    return std::max(left, std::chrono::milliseconds{0});
}

bool Lease::is_guaranteed() const {
    return time_guaranteed() > std::chrono::milliseconds{0};
}

}  // namespace holdfast
