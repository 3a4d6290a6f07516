#pragma once

// The engine's time.
//
// The engine never asks what time it is: every call brings the time along. It is a monotonic time
// with an arbitrary start, so a step of the wall clock can neither shorten nor lengthen a lease;
// the service translates it for people.

#include <chrono>
#include <cstdint>

namespace holdfast::core {

// The clock that engine times belong to. It has no now(): that is the point.
struct EngineClock {
    using rep = std::int64_t;
    using period = std::micro;
    using duration = std::chrono::duration<rep, period>;
    using time_point = std::chrono::time_point<EngineClock>;
    static constexpr bool is_steady = true;
};

using Duration = EngineClock::duration;
using Time = EngineClock::time_point;

// a + b, or the last representable moment when that lies beyond it. REQUIRES: b >= 0.
[[nodiscard]] constexpr Time add_saturating(Time a, Duration b) {
    return a > Time::max() - b ? Time::max() : a + b;
}

}  // namespace holdfast::core
