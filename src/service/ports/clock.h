#pragma once

// Where the service's time comes from.
//
// Leases run on a monotonic time, so that setting the wall clock can neither end nor prolong one.
// People are shown wall time: wall() says what the wall clock will show at an engine time, judged
// by what it shows now.

#include <atomic>
#include <chrono>
#include <cstdint>

#include "core/values/ids.h"

namespace holdfast::service {

using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// Thread safety: any thread may ask.
class Clock {
  public:
    virtual ~Clock() = default;

    // Never goes back.
    [[nodiscard]] virtual core::Time now() const = 0;
    [[nodiscard]] virtual WallTime wall(core::Time time) const = 0;
};

// The machine's clocks.
class SystemClock final : public Clock {
  public:
    [[nodiscard]] core::Time now() const override;
    [[nodiscard]] WallTime wall(core::Time time) const override;
};

// The machine's clocks for a node of a cluster. Its time goes on while the machine sleeps
// (CLOCK_BOOTTIME). The time of SystemClock does not, and a node that woke up would believe that it
// still leads. Service, store and timers of a node all have this clock.
class BoottimeClock final : public Clock {
  public:
    [[nodiscard]] core::Time now() const override;
    [[nodiscard]] WallTime wall(core::Time time) const override;
};

// A clock that stands still until it is told to move: an hour of a test takes no time.
class ManualClock final : public Clock {
  public:
    explicit ManualClock(WallTime start) : start_(start) {}

    [[nodiscard]] core::Time now() const override { return core::Time{elapsed_.load()}; }
    [[nodiscard]] WallTime wall(core::Time time) const override {
        return start_ + time.time_since_epoch();
    }
    void advance(core::Duration step) { elapsed_ = elapsed_.load() + step; }

  private:
    const WallTime start_;
    std::atomic<core::Duration> elapsed_{core::Duration::zero()};
};

// Where fencing numbers (and those of events) start: at the wall clock in microseconds. A store
// that knows of larger ones has its way. So they grow over restarts also where there is no store,
// and where an old copy of one was put back, as long as less than a million locks a second were
// granted. A clock that is a century wrong is not believed: the numbers have an end.
[[nodiscard]] std::uint64_t first_number();

}  // namespace holdfast::service
