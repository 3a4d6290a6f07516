#pragma once

// CompletionQueue: brings the completions of AsyncLocks to a thread of the program that has an event
// loop.
//
//     auto queue = holdfast::CompletionQueue::open();
//     auto locks = manager.async(queue->executor());
//     ...
//     pollfd descriptors[] = {{queue->descriptor(), POLLIN, 0}, ...};
//     while (poll(descriptors, ...) >= 0) {
//         queue->run();
//         ...
//     }
//
// Thread safety: post(), executor() and descriptor() from any thread; run() from one thread at a time.
// Lifetime: an executor may outlive its queue. A task that has not run when the queue is destroyed, or
// that comes later, is destroyed: what an AsyncLocks would have delivered by it is released.

#include <cstddef>
#include <functional>
#include <memory>

#include "holdfast/export.h"
#include "holdfast/lock_result.h"

namespace holdfast {

// Takes a task to run it later, on a thread of the program's choice. Is called on any thread, must not
// block, and throws nothing. A task that it destroys instead counts as not wanted.
using Executor = std::function<void(std::function<void()> task)>;

class HOLDFAST_API CompletionQueue {
  public:
    // LockLimitReached if the process has too many open files.
    [[nodiscard]] static LockResult<CompletionQueue> open();
    CompletionQueue(CompletionQueue&&) noexcept;
    CompletionQueue& operator=(CompletionQueue&&) noexcept;
    ~CompletionQueue();

    // An eventfd for poll() and its relatives: readable while there is a task. Nothing else may read it.
    [[nodiscard]] int descriptor() const;
    // Runs the tasks that are there, in the order in which they came, and returns how many there were.
    // Does not wait. What these tasks post runs at the next call. An exception of a task is passed on;
    // the tasks after it stay in the queue.
    std::size_t run();

    // Puts a task into the queue. Also for the program's own ones: an `on_lost` that is to run on the
    // thread of the loop.
    void post(std::function<void()> task);
    // Puts its tasks into this queue.
    [[nodiscard]] Executor executor() const;

  private:
    struct Tasks;
    explicit CompletionQueue(std::shared_ptr<Tasks> tasks);
    void close();

    std::shared_ptr<Tasks> tasks_;
};

}  // namespace holdfast
