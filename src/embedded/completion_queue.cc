#include "holdfast/completion_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

namespace holdfast {

// The descriptor is readable exactly while there are tasks: both change under the mutex.
struct CompletionQueue::Tasks {
    explicit Tasks(int event) : descriptor(event) {}
    ~Tasks() { ::close(descriptor); }
    Tasks(const Tasks&) = delete;
    Tasks& operator=(const Tasks&) = delete;

    void post(std::function<void()> task) {
        const std::lock_guard guard(mutex);
        if (is_closed) return;
        waiting.push_back(std::move(task));
        if (waiting.size() == 1) ::eventfd_write(descriptor, 1);
    }
    // REQUIRES: the mutex.
    void clear_event() const {
        eventfd_t count = 0;
        ::eventfd_read(descriptor, &count);
    }

    const int descriptor;
    std::mutex mutex;
    std::deque<std::function<void()>> waiting;
    bool is_closed = false;
};

LockResult<CompletionQueue> CompletionQueue::open() {
    const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) {
        return LockError{LockLimitReached{"no eventfd: " + std::generic_category().message(errno)}};
    }
    return CompletionQueue(std::make_shared<Tasks>(descriptor));
}

CompletionQueue::CompletionQueue(std::shared_ptr<Tasks> tasks) : tasks_(std::move(tasks)) {}

CompletionQueue::CompletionQueue(CompletionQueue&&) noexcept = default;

CompletionQueue& CompletionQueue::operator=(CompletionQueue&& other) noexcept {
    if (this == &other) return *this;
    close();
    tasks_ = std::move(other.tasks_);
    return *this;
}

CompletionQueue::~CompletionQueue() {
    close();
}

// Tasks are destroyed without the mutex: what they own may post others.
void CompletionQueue::close() {
    if (!tasks_) return;
    std::deque<std::function<void()>> unwanted;
    const std::lock_guard guard(tasks_->mutex);
    tasks_->is_closed = true;
    unwanted.swap(tasks_->waiting);
}

int CompletionQueue::descriptor() const {
    return tasks_->descriptor;
}

// A task may destroy the queue.
std::size_t CompletionQueue::run() {
    const std::shared_ptr<Tasks> tasks = tasks_;
    std::unique_lock guard(tasks->mutex);
    std::size_t done = 0;
    for (std::size_t left = tasks->waiting.size(); left > 0 && !tasks->waiting.empty(); --left) {
        std::function<void()> task = std::move(tasks->waiting.front());
        tasks->waiting.pop_front();
        if (tasks->waiting.empty()) tasks->clear_event();
        guard.unlock();
        ++done;
        std::exchange(task, nullptr)();
        guard.lock();
    }
    return done;
}

void CompletionQueue::post(std::function<void()> task) {
    tasks_->post(std::move(task));
}

Executor CompletionQueue::executor() const {
    return [tasks = tasks_](std::function<void()> task) { tasks->post(std::move(task)); };
}

}  // namespace holdfast
