#pragma once

// How calls from the threads of a program reach the lock service and get their results.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "service/ports/executor.h"

namespace holdfast::embedded {

// ServiceThread: the thread of the lock service in a program, which has no event loop.
//
// A turn does everything that was posted since the last turn began, so the requests of many threads
// are committed together.
//
// Timers stand still while the machine sleeps, and the clock of the service does not. What fell due
// during a sleep is done with the next task, or when the timer rings: too late, but never too early.
//
// Thread safety: post() from any thread; start() and stop() from one; the rest on the thread
// itself, or before start(). Lifetime: tasks that are posted after stop() are dropped.
class ServiceThread final : public service::Executor {
  public:
    ServiceThread() = default;
    ~ServiceThread() override { stop(); }
    ServiceThread(const ServiceThread&) = delete;
    ServiceThread& operator=(const ServiceThread&) = delete;

    void bind(std::function<void()> on_end_of_turn, std::function<void()> on_wake) override;
    void at_end_of_turn() override { has_work_ = true; }
    void wake_after(core::Duration delay) override;
    void post(std::function<void()> task) override;

    // REQUIRES: bound.
    void start();
    // Runs the tasks that were posted so far, and ends the thread.
    void stop();

  private:
    using Tasks = std::vector<std::function<void()>>;

    void run();
    void wait(std::unique_lock<std::mutex>& guard);
    void end_turn();

    std::function<void()> on_end_of_turn_;
    std::function<void()> on_wake_;
    bool has_work_ = false;
    std::optional<std::chrono::steady_clock::time_point> wake_at_;

    std::mutex mutex_;
    std::condition_variable changed_;
    Tasks tasks_;               // under mutex_
    bool is_stopping_ = false;  // under mutex_

    std::thread thread_;
};

// Call: a result that one thread waits for and another thread gives. The waiting thread may stop
// waiting; then the giving thread learns that the result is not wanted.
//
// Thread safety: wait() from one thread, once; give() from another, once.
template <class Result>
class Call {
  public:
    // Waits for the result. Nothing if `stop` was requested first.
    std::optional<Result> wait(std::stop_token stop = {}) {
        std::unique_lock guard(mutex_);
        given_.wait(guard, std::move(stop), [this] { return result_.has_value(); });
        is_abandoned_ = !result_;
        return std::move(result_);
    }

    // False if the result is not wanted any more.
    bool give(Result result) {
        const std::lock_guard guard(mutex_);
        if (is_abandoned_) return false;
        result_ = std::move(result);
        given_.notify_one();
        return true;
    }

    [[nodiscard]] bool is_abandoned() const {
        const std::lock_guard guard(mutex_);
        return is_abandoned_;
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable_any given_;
    std::optional<Result> result_;
    bool is_abandoned_ = false;
};

}  // namespace holdfast::embedded
