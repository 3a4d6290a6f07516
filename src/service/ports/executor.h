#pragma once

// Executor: the thread a part of the service lives on, as far as the service needs to know it.
//
// Work comes in turns: everything that arrived together is handled, then the turn ends. The service
// collects answers and changes during a turn and sends or commits them at its end.

#include <functional>

#include "core/values/ids.h"

namespace holdfast::service {

class Executor {
  public:
    virtual ~Executor() = default;

    // Who is called back, on the executor's thread. REQUIRES: called once, before anything else.
    virtual void bind(std::function<void()> on_end_of_turn, std::function<void()> on_wake) = 0;

    // Calls on_end_of_turn when this turn ends, once however often it is asked for.
    virtual void at_end_of_turn() = 0;

    // Whether anything has come in since this was asked last. What came in together has one time,
    // for which the clock need not be read again and again.
    [[nodiscard]] virtual bool has_fresh_input() { return true; }

    // Calls on_wake after `delay`, and forgets what was asked before.
    virtual void wake_after(core::Duration delay) = 0;

    // Runs `task` in a turn of its own. From any thread.
    virtual void post(std::function<void()> task) = 0;
};

}  // namespace holdfast::service
