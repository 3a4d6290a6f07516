#include "net/loop/poller.h"

#include <sys/epoll.h>

#include <array>

#include "base/check.h"
#include "net/loop/event_loop.h"

namespace holdfast::net {

namespace {

// Ready connections handled in one turn; the others follow in the next.
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
    set_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
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
