#pragma once

#include <functional>
#include <utility>

#include "service/ports/executor.h"

namespace holdfast::sim {

// SimExecutor: the turns of a simulated server. It dies with the server, and so does all that it
// was asked to do later.
class SimExecutor final : public service::Executor {
  public:
    // Runs a task on the server later, if it still lives then.
    using Later = std::function<void(core::Duration delay, std::function<void()> task)>;

    struct Ways {
        Later timer;  // may be late
        Later post;
    };

    explicit SimExecutor(Ways ways) : ways_(std::move(ways)) {}

    void bind(std::function<void()> on_end_of_turn, std::function<void()> on_wake) override {
        on_end_of_turn_ = std::move(on_end_of_turn);
        on_wake_ = std::move(on_wake);
    }
    void at_end_of_turn() override { has_work_ = true; }
    void wake_after(core::Duration delay) override {
        ways_.timer(delay, [this, number = ++wakes_] {
            if (number == wakes_) on_wake_();
        });
    }
    void post(std::function<void()> task) override {
        ways_.post(core::Duration::zero(), std::move(task));
    }

    // One turn.
    void run(const std::function<void()>& task) {
        task();
        while (std::exchange(has_work_, false)) on_end_of_turn_();
    }

  private:
    const Ways ways_;
    std::function<void()> on_end_of_turn_;
    std::function<void()> on_wake_;
    bool has_work_ = false;
    std::uint64_t wakes_ = 0;
};

}  // namespace holdfast::sim
