#include "cluster/boottime_clock.h"

#include <ctime>

namespace holdfast::cluster {

namespace {

std::chrono::microseconds read(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec});
}

}  // namespace

core::Time BoottimeClock::now() const {
    return core::Time{read(CLOCK_BOOTTIME)};
}

service::WallTime BoottimeClock::wall(core::Time time) const {
    const auto wall_now = read(CLOCK_REALTIME);
    return service::WallTime{wall_now - read(CLOCK_BOOTTIME) + time.time_since_epoch()};
}

}  // namespace holdfast::cluster
