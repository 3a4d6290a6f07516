#include "holdfast/lease.h"

#include <algorithm>
#include <ctime>

#include "holdfast/boot_clock.h"

namespace holdfast {

BootClock::time_point BootClock::now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return time_point{std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec}};
}

std::chrono::milliseconds Lease::margin() const {
    constexpr std::chrono::milliseconds margin_max{5'000};
    return std::min(margin_max, ttl / 6);
}

// Rounded down, so that the promise is true.
std::chrono::milliseconds Lease::time_guaranteed() const {
    const auto left =
        std::chrono::floor<std::chrono::milliseconds>(lasts_until - BootClock::now()) - margin();
    return std::max(left, std::chrono::milliseconds{0});
}

bool Lease::covers(const LockScope& other, LockMode needed) const {
    const auto is_enough = [&](const LockScope& held, LockMode held_mode) {
        return (held_mode == LockMode::exclusive || needed == LockMode::shared) &&
               held.covers(other);
    };
    if (scopes.empty()) return is_enough(scope, mode);
    return std::ranges::any_of(
        scopes, [&](const LockSetMember& member) { return is_enough(member.scope, member.mode); });
}

std::string Lease::scopes_text() const {
    std::string text = scope.to_text();
    for (std::size_t index = 1; index < scopes.size(); ++index) {
        text.append(", ").append(scopes[index].scope.to_text());
    }
    return text;
}

bool Lease::is_guaranteed() const {
    return time_guaranteed() > std::chrono::milliseconds{0};
}

}  // namespace holdfast
