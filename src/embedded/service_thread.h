#pragma once

// How calls from the threads of a program reach the lock service and get their results.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
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
    // Whether the caller runs on the thread, in a task.
    [[nodiscard]] bool is_current() const { return std::this_thread::get_id() == id_.load(); }

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
    std::atomic<std::thread::id> id_{};
};

// Call: a result that one thread waits for and another thread gives.
//
// Thread safety: wait() from one thread, once; give() from another, once.
template <class Result>
class Call {
  public:
    Result wait() {
        std::unique_lock guard(mutex_);
        given_.wait(guard, [this] { return result_.has_value(); });
        return *std::move(result_);
    }

    void give(Result result) {
        const std::lock_guard guard(mutex_);
        result_ = std::move(result);
        given_.notify_one();
    }

  private:
    std::mutex mutex_;
    std::condition_variable given_;
    std::optional<Result> result_;
};

}  // namespace holdfast::embedded
