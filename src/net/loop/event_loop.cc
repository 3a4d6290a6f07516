#include "net/loop/event_loop.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace holdfast::net {

namespace {

// How many ready connections are handled in one turn; the others follow in the next.
constexpr std::size_t batch_max = 256;

epoll_event make_event(std::uint32_t events, Pollable& pollable) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = &pollable;
    return event;
}

int make_set() {
    const int descriptor = ::epoll_create1(EPOLL_CLOEXEC);
    CHECK(descriptor >= 0);
    return descriptor;
}

}  // namespace

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

Poller::Poller(EventLoop& loop, boost::asio::io_context& context)
    : loop_(loop), set_(context, make_set()) {
    wait();
}

bool Poller::add(int descriptor, std::uint32_t events, Pollable& pollable) {
    auto event = make_event(events, pollable);
    return ::epoll_ctl(set_.native_handle(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Poller::change(int descriptor, std::uint32_t events, Pollable& pollable) {
    auto event = make_event(events, pollable);
    CHECK(::epoll_ctl(set_.native_handle(), EPOLL_CTL_MOD, descriptor, &event) == 0);
}

void Poller::remove(int descriptor) {
    CHECK(::epoll_ctl(set_.native_handle(), EPOLL_CTL_DEL, descriptor, nullptr) == 0);
}

void Poller::wait() {
    set_.async_wait(boost::asio::posix::descriptor_base::wait_read,
                    [this](boost::system::error_code error) {
                        if (error) return;
                        run_ready();
                        wait();
                    });
}

void Poller::run_ready() {
    std::array<epoll_event, batch_max> events;
    const int count = ::epoll_wait(set_.native_handle(), events.data(), batch_max, 0);
    if (count <= 0) return;
    EventLoop::Turn turn(loop_);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        static_cast<Pollable*>(events[i].data.ptr)->on_ready(events[i].events);
    }
}

}  // namespace holdfast::net
