#include "embedded/service_thread.h"

#include <algorithm>
#include <utility>

namespace holdfast::embedded {

void ServiceThread::bind(std::function<void()> on_end_of_turn, std::function<void()> on_wake) {
    on_end_of_turn_ = std::move(on_end_of_turn);
    on_wake_ = std::move(on_wake);
}

void ServiceThread::wake_after(core::Duration delay) {
    // A day at a time: far deadlines would overflow the clock, and waking early does no harm.
    constexpr core::Duration delay_max = std::chrono::hours{24};
    wake_at_ = std::chrono::steady_clock::now() + std::min(delay, delay_max);
}

void ServiceThread::post(std::function<void()> task) {
    bool is_first = false;
    {
        const std::lock_guard guard(mutex_);
        is_first = tasks_.empty();
        tasks_.push_back(std::move(task));
    }
    if (is_first) changed_.notify_one();
}

void ServiceThread::start() {
    thread_ = std::thread([this] { run(); });
}

void ServiceThread::stop() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard guard(mutex_);
        is_stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void ServiceThread::run() {
    id_ = std::this_thread::get_id();
    end_turn();  // what was left to do before start()
    bool is_ending = false;
    while (!is_ending) {
        Tasks tasks;
        {
            std::unique_lock guard(mutex_);
            wait(guard);
            tasks.swap(tasks_);
            is_ending = is_stopping_;
        }
        for (const auto& task : tasks) task();
        if (wake_at_ && *wake_at_ <= std::chrono::steady_clock::now()) {
            wake_at_.reset();
            on_wake_();
        }
        end_turn();
    }
}

// Until something was posted, the timer rings, or the thread is to end.
void ServiceThread::wait(std::unique_lock<std::mutex>& guard) {
    const auto is_news = [this] { return !tasks_.empty() || is_stopping_; };
    if (wake_at_) {
        changed_.wait_until(guard, *wake_at_, is_news);
    } else {
        changed_.wait(guard, is_news);
    }
}

void ServiceThread::end_turn() {
    while (std::exchange(has_work_, false)) on_end_of_turn_();
}

}  // namespace holdfast::embedded
