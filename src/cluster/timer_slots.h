#pragma once

// TimerSlots: several alarms on one Timers, which has only one.
//
// Thread safety: none; on the thread of the loop.
// Lifetime: `timers` outlives this; nothing is called after the destructor.

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "cluster/timers.h"

namespace holdfast::cluster {

class TimerSlots {
  public:
    // Who sets an alarm. Each has one.
    enum class Slot : std::uint8_t { leadership, reader, writer, recovery, housekeeping };

    explicit TimerSlots(Timers& timers) : timers_(timers) {}

    [[nodiscard]] core::Time now() const { return timers_.now(); }

    // Calls `task` at `time` or later, never inside this call. Forgets what the slot had before.
    void set(Slot slot, core::Time time, std::function<void()> task);
    void clear(Slot slot) { at(slot) = {}; }

  private:
    struct Alarm {
        core::Time time = core::Time::max();
        std::function<void()> task;
    };

    Alarm& at(Slot slot) { return alarms_[static_cast<std::size_t>(slot)]; }
    void arm();
    void ring();

    Timers& timers_;
    std::array<Alarm, 5> alarms_;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace holdfast::cluster
