#pragma once

// BootClock: the clock that leases are judged by. It goes on while the machine is asleep, nobody
// can set it, and every process of the machine reads the same.

#include <chrono>
#include <ctime>

namespace holdfast::cli {

struct BootClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<BootClock>;
    static constexpr bool is_steady = true;

    static time_point now() {
        timespec time{};
        ::clock_gettime(CLOCK_BOOTTIME, &time);
        return time_point(std::chrono::seconds{time.tv_sec} +
                          std::chrono::nanoseconds{time.tv_nsec});
    }
};

using BootTime = BootClock::time_point;

}  // namespace holdfast::cli
