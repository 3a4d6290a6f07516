#pragma once

// Executors for tests: one that is driven by hand, and one with a thread of its own.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "service/ports/executor.h"

namespace holdfast::service::testing {

// ManualExecutor: nothing happens until the test says so. Posted tasks may come from any thread,
// but all of them run in the test's.
class ManualExecutor final : public Executor {
  public:
    void bind(std::function<void()> on_end_of_turn, std::function<void()> on_wake) override {
        on_end_of_turn_ = std::move(on_end_of_turn);
        on_wake_ = std::move(on_wake);
    }
    void at_end_of_turn() override { has_work_ = true; }
    void wake_after(core::Duration delay) override { wake_delay = delay; }
    void post(std::function<void()> task) override {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
    }

    // Ends the turn at hand.
    void end_turn() {
        while (std::exchange(has_work_, false)) on_end_of_turn_();
    }

    // Runs one posted task in a turn of its own. False if there is none.
    bool run_one() {
        std::function<void()> task;
        {
            const std::lock_guard lock(mutex_);
            if (tasks_.empty()) return false;
            task = std::move(tasks_.front());
            tasks_.pop_front();
        }
        task();
        end_turn();
        return true;
    }

    // Ends the turn at hand and runs everything that was posted.
    void settle() {
        end_turn();
        while (run_one()) {
        }
    }

    // What a timer does when it rings.
    void ring() {
        wake_delay.reset();
        on_wake_();
        end_turn();
    }

    std::optional<core::Duration> wake_delay;  // when the timer would ring, as last asked

  private:
    std::function<void()> on_end_of_turn_;
    std::function<void()> on_wake_;
    bool has_work_ = false;
    std::mutex mutex_;
    std::deque<std::function<void()>> tasks_;
};

// ThreadExecutor: runs what is posted on a thread of its own until stop(). Its timer never rings.
class ThreadExecutor final : public Executor {
  public:
    ~ThreadExecutor() override { stop(); }

    void bind(std::function<void()> on_end_of_turn, std::function<void()> /*on_wake*/) override {
        on_end_of_turn_ = std::move(on_end_of_turn);
    }
    void at_end_of_turn() override { has_work_ = true; }
    void wake_after(core::Duration /*delay*/) override {}
    void post(std::function<void()> task) override {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
        changed_.notify_one();
    }

    // REQUIRES: bound.
    void start() {
        thread_ = std::thread([this] { run(); });
    }

    // Runs what has been posted so far, and ends the thread.
    void stop() {
        if (!thread_.joinable()) return;
        post([this] { is_stopping_ = true; });
        thread_.join();
    }

  private:
    void run() {
        while (!is_stopping_) {
            std::function<void()> task;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return !tasks_.empty(); });
                task = std::move(tasks_.front());
                tasks_.pop_front();
            }
            task();
            while (std::exchange(has_work_, false)) on_end_of_turn_();
        }
    }

    std::function<void()> on_end_of_turn_;
    bool has_work_ = false;     // on the thread
    bool is_stopping_ = false;  // on the thread
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    std::thread thread_;
};

}  // namespace holdfast::service::testing
