#pragma once

// LoopTimer: calls one function when one moment has come.
//
// There is one moment at a time: call_at() replaces the last one. Moving it later, or asking for
// the same again, costs nothing, so an owner may simply tell its next deadline after every change.
//
// The call comes promptly after the moment (the kernel's timer, not a tick), never before it and
// never from inside call_at().
//
// Thread safety: only on the loop's thread (or while nobody runs the loop).
// Lifetime: may be destroyed at any time except from inside its own function.

#include <functional>
#include <memory>

#include "net/loop/event_loop.h"

namespace holdfast::net {

class LoopTimer {
  public:
    LoopTimer(EventLoop& loop, std::function<void()> on_due);
    ~LoopTimer();
    LoopTimer(const LoopTimer&) = delete;
    LoopTimer& operator=(const LoopTimer&) = delete;

    void call_at(EventLoop::TimePoint due);
    void cancel();

  private:
    struct State;

    std::shared_ptr<State> state_;
};

}  // namespace holdfast::net
