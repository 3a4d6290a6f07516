#pragma once

// The time of a node, and what happens later.

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "core/values/ids.h"

namespace holdfast::cluster {

// Timers: the time of a node, and what happens later, as far as the cluster needs to know it. The
// machine's clock and a loop are behind it, or a simulation.
class Timers {
  public:
    virtual ~Timers() = default;

    // Goes on while the machine sleeps, and never goes back.
    [[nodiscard]] virtual core::Time now() const = 0;

    // Calls `task` at `time`, or later if the node is busy or stopped; never inside this call.
    // Forgets the task that was set before. On the thread of the loop.
    virtual void set(core::Time time, std::function<void()> task) = 0;
};

// TimerSlots: several alarms on one Timers, which has only one.
//
// Thread safety: none; on the thread of the loop.
// Lifetime: `timers` outlives this; nothing is called after the destructor.
class TimerSlots {
  public:
    // Who sets an alarm. Each has one.
    enum class Slot : std::uint8_t { leadership, reader, writer, recovery, housekeeping, history };

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
    std::array<Alarm, 6> alarms_;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace holdfast::cluster
