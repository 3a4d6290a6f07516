#include "service/ports/clock.h"

#include <ctime>

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

}  // namespace holdfast::service
