#include "base/work_pool.h"

#include <utility>

#include "base/check.h"

namespace holdfast::base {

WorkPool::WorkPool(std::size_t thread_count) {
    CHECK(thread_count > 0);
    threads_.reserve(thread_count);
    for (std::size_t i = 0; i < thread_count; ++i) threads_.emplace_back([this] { work(); });
}

WorkPool::~WorkPool() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void WorkPool::run(Task task) {
    {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
}

std::size_t WorkPool::queue_length() const {
    const std::lock_guard lock(mutex_);
    return tasks_.size();
}

void WorkPool::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        wake_.wait(lock, [this] { return is_ending_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        {
            const Task task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
        }  // what the task holds is let go before the lock is taken again
        lock.lock();
    }
}

}  // namespace holdfast::base
