#pragma once

#include <chrono>

#include "holdfast/export.h"

namespace holdfast {

// BootClock: a clock that nobody can set, and that goes on while the machine is asleep
// (CLOCK_BOOTTIME). A client uses it to decide how long its lease is guaranteed.
struct HOLDFAST_API BootClock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<BootClock>;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now() noexcept;
};

}  // namespace holdfast
