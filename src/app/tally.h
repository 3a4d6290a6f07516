#pragma once

// Tally: reports how often something has happened that may happen very often. The first time is
// reported at once, and what follows together, at most once in an interval. Nothing is left out: the
// rest of a burst is reported when its interval is over, or by the destructor.
//
// Thread safety: only on the loop's thread, or while no thread runs the loop.

#include <cstdint>
#include <functional>
#include <utility>

#include "net/loop/loop_timer.h"

namespace holdfast::app {

class Tally {
  public:
    using Report = std::function<void(std::uint64_t times)>;

    Tally(net::EventLoop& loop, net::EventLoop::Clock::duration interval, Report report)
        : interval_(interval),
          report_(std::move(report)),
          timer_(loop, [this] { end_interval(); }) {}
    ~Tally() {
        if (count_ > 0) report_(count_);
    }
    Tally(const Tally&) = delete;
    Tally& operator=(const Tally&) = delete;

    // It has happened once more.
    void add() {
        ++count_;
        if (!is_in_interval_) report_and_begin_interval();
    }

  private:
    void end_interval() {
        is_in_interval_ = false;
        if (count_ > 0) report_and_begin_interval();
    }

    void report_and_begin_interval() {
        is_in_interval_ = true;
        timer_.call_at(net::EventLoop::Clock::now() + interval_);
        report_(std::exchange(count_, 0));
    }

    const net::EventLoop::Clock::duration interval_;
    const Report report_;
    std::uint64_t count_ = 0;  // since the last report
    bool is_in_interval_ = false;
    net::LoopTimer timer_;
};

}  // namespace holdfast::app
