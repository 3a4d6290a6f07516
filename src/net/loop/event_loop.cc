#include "net/loop/event_loop.h"

#include <algorithm>

#include "base/check.h"
#include "net/loop/poller.h"

namespace holdfast::net {

EventLoop::EventLoop()
    : context_(1),
      keep_running_(context_.get_executor()),
      now_(Clock::now()),
      read_buffer_(std::make_unique_for_overwrite<ReadBuffer>()),
      poller_(std::make_unique<Poller>(*this, context_)) {}

EventLoop::~EventLoop() = default;

void EventLoop::run() {
    context_.run();
    context_.restart();
}

void EventLoop::stop() {
    context_.stop();
}

void EventLoop::schedule(TurnTask& task) {
    if (task.scheduled_) return;
    task.scheduled_ = true;
    if (tasks_.empty() && !in_turn_) post([] {});
    tasks_.push_back(&task);
}

void EventLoop::unschedule(TurnTask& task) {
    if (!task.scheduled_) return;
    task.scheduled_ = false;
    std::replace(tasks_.begin(), tasks_.end(), &task, static_cast<TurnTask*>(nullptr));
}

// Tasks may schedule further tasks, which belong to the same turn.
void EventLoop::finish_turn() {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
        TurnTask* const task = tasks_[i];
        if (!task) continue;
        task->scheduled_ = false;
        tasks_[i] = nullptr;
        task->on_end_of_turn();
    }
    tasks_.clear();
}

EventLoop::Turn::Turn(EventLoop& loop) : loop_(loop) {
    CHECK(!loop_.in_turn_);
    loop_.in_turn_ = true;
    loop_.now_ = Clock::now();
    loop_.is_fresh_ = true;
    loop_.read_bytes_kept_ = 0;
}

EventLoop::Turn::~Turn() {
    loop_.finish_turn();
    loop_.in_turn_ = false;
}

}  // namespace holdfast::net
