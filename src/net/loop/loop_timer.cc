#include "net/loop/loop_timer.h"

#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace holdfast::net {

namespace {
constexpr auto never = EventLoop::TimePoint::max();
}

// Shared with the handlers that Asio holds, which may come after the timer is gone or was moved:
// `armed` says which of them is current.
struct LoopTimer::State : std::enable_shared_from_this<State> {
    State(EventLoop& its_loop, std::function<void()> function)
        : loop(its_loop), timer(its_loop.context()), on_due(std::move(function)) {}

    // Waits for `due`, instead of whatever was waited for.
    void arm() {
        armed = due;
        timer.expires_at(due);
        timer.async_wait(
            [self = shared_from_this(), moment = due](boost::system::error_code error) {
                if (!error && moment == self->armed) self->ring();
            });
    }

    void ring() {
        armed = never;
        if (due == never) return;
        if (EventLoop::Clock::now() < due) return arm();
        due = never;
        EventLoop::Turn turn(loop);
        on_due();
    }

    EventLoop& loop;
    boost::asio::steady_timer timer;
    std::function<void()> on_due;
    EventLoop::TimePoint due = never;
    EventLoop::TimePoint armed = never;  // not after `due`
};

LoopTimer::LoopTimer(EventLoop& loop, std::function<void()> on_due)
    : state_(std::make_shared<State>(loop, std::move(on_due))) {}

LoopTimer::~LoopTimer() {
    state_->armed = never;
    state_->timer.cancel();
}

void LoopTimer::call_at(EventLoop::TimePoint due) {
    state_->due = due;
    if (due < state_->armed) state_->arm();
}

void LoopTimer::cancel() {
    state_->due = never;
}

}  // namespace holdfast::net
