#pragma once

// Timers: the time of a node, and what happens later, as far as the cluster needs to know it. The
// machine's clock and a loop are behind it, or a simulation.

#include <functional>

#include "core/values/ids.h"

namespace holdfast::cluster {

class Timers {
  public:
    virtual ~Timers() = default;

    // Goes on while the machine sleeps, and never goes back.
    [[nodiscard]] virtual core::Time now() const = 0;

    // Calls `task` at `time`, or later if the node is busy or stopped; never inside this call.
    // Forgets the task that was set before. On the thread of the loop.
    virtual void set(core::Time time, std::function<void()> task) = 0;
};

}  // namespace holdfast::cluster
