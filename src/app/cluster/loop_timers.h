#pragma once

// LoopTimers: the machine's clock and a loop, for a node of a cluster.
//
// Thread safety: only on the loop's thread. The loop and the clock outlive it.

#include <functional>
#include <utility>

#include "cluster/timers.h"
#include "net/loop/loop_timer.h"
#include "service/ports/clock.h"

namespace holdfast::app {

class LoopTimers final : public cluster::Timers {
  public:
    LoopTimers(net::EventLoop& loop, const service::Clock& clock)
        : clock_(clock), timer_(loop, [this] { run(); }) {}

    [[nodiscard]] core::Time now() const override { return clock_.now(); }

    void set(core::Time time, std::function<void()> task) override {
        task_ = std::move(task);
        timer_.call_at(net::EventLoop::Clock::now() + (time - clock_.now()));
    }

  private:
    void run() {
        if (const auto task = std::exchange(task_, nullptr)) task();
    }

    const service::Clock& clock_;
    std::function<void()> task_;
    net::LoopTimer timer_;
};

}  // namespace holdfast::app
