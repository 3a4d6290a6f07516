#include "service/ports/clock.h"

#include <algorithm>
#include <ctime>

#include "core/values/ids.h"

namespace holdfast::service {

namespace {

std::chrono::microseconds read(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec});
}

}  // namespace

core::Time SystemClock::now() const {
    return core::Time{std::chrono::duration_cast<core::Duration>(
        std::chrono::steady_clock::now().time_since_epoch())};
}

WallTime SystemClock::wall(core::Time time) const {
    // The coarse clocks cost next to nothing. Both are of the kernel's last tick, so their
    // difference is exact; should a tick fall between the two reads, the time shown is a few
    // milliseconds early.
    const auto wall_now = read(CLOCK_REALTIME_COARSE);
    const auto steady_now = read(CLOCK_MONOTONIC_COARSE);
    return WallTime{wall_now - steady_now + time.time_since_epoch()};
}

core::Time BoottimeClock::now() const {
    return core::Time{read(CLOCK_BOOTTIME)};
}

WallTime BoottimeClock::wall(core::Time time) const {
    const auto wall_now = read(CLOCK_REALTIME);
    return WallTime{wall_now - read(CLOCK_BOOTTIME) + time.time_since_epoch()};
}

std::uint64_t first_number() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto now_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    const auto first = static_cast<std::uint64_t>(std::max<std::int64_t>(now_us, 1));
    const bool is_believable = first < core::as_number(core::fence_max) / 2;
    return is_believable ? first : 1;
}

}  // namespace holdfast::service
