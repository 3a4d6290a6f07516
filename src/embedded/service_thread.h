#pragma once

// ServiceThread: a thread for the lock service to live on, where there is no event loop.
//
// A turn is everything that was posted since the last one began: what many threads ask at once is
// committed together.
//
// Thread safety: post() from any thread; start() and stop() from one; the rest on the thread
// itself, or before start(). Lifetime: what is posted after stop() is dropped with the object.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "service/ports/executor.h"

namespace holdfast::embedded {

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
    // Runs what was posted so far, and ends the thread.
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
    Tasks tasks_;               // guarded by the mutex,
    bool is_stopping_ = false;  // and so is this

    std::thread thread_;
};

}  // namespace holdfast::embedded
