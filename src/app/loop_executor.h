#pragma once

#include <functional>

#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"
#include "service/ports/executor.h"

namespace holdfast::app {

// LoopExecutor: lets the service live on an event loop.
//
// Lifetime: as long as its loop is run; the loop outlives it.
class LoopExecutor final : public service::Executor, private net::TurnTask {
  public:
    explicit LoopExecutor(net::EventLoop& loop);
    ~LoopExecutor() override;

    void bind(std::function<void()> on_end_of_turn, std::function<void()> on_wake) override;
    void at_end_of_turn() override { loop_.schedule(*this); }
    [[nodiscard]] bool has_fresh_input() override { return loop_.take_freshness(); }
    void wake_after(core::Duration delay) override;
    void post(std::function<void()> task) override { loop_.post(std::move(task)); }

  private:
    void on_end_of_turn() override { on_end_of_turn_(); }

    net::EventLoop& loop_;
    std::function<void()> on_end_of_turn_;
    std::function<void()> on_wake_;
    net::LoopTimer timer_;
};

}  // namespace holdfast::app
