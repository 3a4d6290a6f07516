#include "store/boot_clock.h"

#include <time.h>

#include <fstream>

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

}  // namespace holdfast::store
