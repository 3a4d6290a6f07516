#pragma once

// Completion and Awaited: how a call that does not wait gives its result: to a function, or to a
// coroutine.

#include <atomic>
#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "holdfast/lock_result.h"

namespace holdfast {

// Gets the result of a call, once.
template <class T>
using Completion = std::function<void(LockResult<T>)>;

// Awaited: a call that a coroutine waits for with co_await, once. The call begins with co_await. If the
// coroutine is destroyed while it waits, the call is cancelled, and its result is not wanted.
//
// Thread safety: that of the coroutine.
template <class T>
class [[nodiscard]] Awaited {
  public:
    // Starts the call. May be cancelled by the token.
    using Start = std::function<void(Completion<T>, const std::stop_token&)>;
    // Gets a result that is not wanted any more.
    using TakeBack = std::function<void(LockResult<T>)>;

    // `stop` cancels the call, too.
    explicit Awaited(Start start, std::stop_token stop = {}, TakeBack take_back = {})
        : start_(std::move(start)), state_(std::make_shared<State>()) {
        state_->take_back = std::move(take_back);
        if (stop.stop_possible()) state_->forward.emplace(std::move(stop), Cancel{state_->cancel});
    }
    // The result is there already.
    explicit Awaited(LockResult<T> result) : state_(std::make_shared<State>()) {
        state_->result.emplace(std::move(result));
    }
    Awaited(const Awaited&) = delete;
    Awaited& operator=(const Awaited&) = delete;
    ~Awaited() {
        if (state_->phase.exchange(Phase::unwanted) == Phase::waiting) {
            state_->cancel.request_stop();
        }
    }

    [[nodiscard]] bool await_ready() const noexcept { return state_->result.has_value(); }
    // The coroutine may be over before this returns: the call is on its way then.
    void await_suspend(std::coroutine_handle<> coroutine) {
        const std::shared_ptr<State> state = state_;
        const Start start = std::move(start_);
        state->coroutine = coroutine;
        state->phase = Phase::waiting;
        start([state](LockResult<T> result) { state->take(std::move(result)); },
              state->cancel.get_token());
    }
    [[nodiscard]] LockResult<T> await_resume() { return *std::move(state_->result); }

  private:
    enum class Phase : unsigned char { idle, waiting, answered, unwanted };
    struct Cancel {
        std::stop_source source;
        void operator()() { source.request_stop(); }
    };
    struct State {
        // Whichever comes first, the result or the end of the coroutine, decides.
        void take(LockResult<T> given) {
            result.emplace(std::move(given));
            if (phase.exchange(Phase::answered) == Phase::waiting) return coroutine.resume();
            if (take_back) take_back(*std::move(result));
        }

        std::atomic<Phase> phase = Phase::idle;
        std::coroutine_handle<> coroutine;
        std::optional<LockResult<T>> result;
        TakeBack take_back;
        std::stop_source cancel;
        std::optional<std::stop_callback<Cancel>> forward;  // from the program's token
    };

    Start start_;
    std::shared_ptr<State> state_;
};

}  // namespace holdfast
