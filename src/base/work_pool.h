#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::base {

// WorkPool: a fixed few threads for what would make an event loop wait: disks, long hashes.
//
// Tasks are begun in the order they came in. The queue has no limit of its own: whoever hands in
// tasks for others (a connection, one at a time) knows how many there can be.
//
// Thread safety: run() and queue_length() from any thread, tasks included.
// Lifetime: the destructor runs all that was handed in before it returns, so that no task's caller
// waits for ever.
class WorkPool {
  public:
    using Task = std::function<void()>;

    // REQUIRES: at least one thread.
    explicit WorkPool(std::size_t thread_count);
    WorkPool(const WorkPool&) = delete;
    WorkPool& operator=(const WorkPool&) = delete;
    ~WorkPool();

    // Runs `task` on one of the threads, as soon as one is free.
    void run(Task task);

    // How many tasks nobody has begun yet.
    [[nodiscard]] std::size_t queue_length() const;

  private:
    void work();

    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Task> tasks_;
    bool is_ending_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace holdfast::base
