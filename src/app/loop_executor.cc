#include "app/loop_executor.h"

#include <algorithm>
#include <utility>

namespace holdfast::app {

LoopExecutor::LoopExecutor(net::EventLoop& loop)
    : loop_(loop), timer_(loop, [this] { on_wake_(); }) {}

LoopExecutor::~LoopExecutor() {
    loop_.unschedule(*this);
}

void LoopExecutor::bind(std::function<void()> on_end_of_turn, std::function<void()> on_wake) {
    on_end_of_turn_ = std::move(on_end_of_turn);
    on_wake_ = std::move(on_wake);
}

void LoopExecutor::wake_after(core::Duration delay) {
    // A day at a time: far deadlines would overflow the timer's clock, and waking early does no
    // harm.
    constexpr core::Duration delay_max = std::chrono::hours{24};
    timer_.call_at(net::EventLoop::Clock::now() + std::min(delay, delay_max));
}

}  // namespace holdfast::app
