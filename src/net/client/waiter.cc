#include "net/client/waiter.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "base/check.h"

namespace holdfast::net {

namespace {

// Without an eventfd (the process has no descriptor left) the stop token is checked this often.
constexpr int poll_interval_ms = 100;

Waiter::Clock::time_point after(std::chrono::milliseconds timeout) {
    constexpr std::chrono::milliseconds timeout_max = std::chrono::hours{24 * 365};
    return Waiter::Clock::now() + std::min(timeout, timeout_max);
}

// Rounded up: when poll() times out, the deadline has passed.
int milliseconds_until(Waiter::Clock::time_point deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - Waiter::Clock::now()).count();
    return static_cast<int>(
        std::clamp<std::chrono::milliseconds::rep>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

void Waiter::Signal::operator()() const noexcept {
    (void)::eventfd_write(descriptor, 1);
}

Waiter::Waiter(std::chrono::milliseconds timeout, const std::stop_token& stop)
    : deadline_(after(timeout)), stop_(stop) {
    if (!stop_.stop_possible()) return;
    wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_ >= 0) on_stop_.emplace(stop_, Signal{wake_});
}

Waiter::~Waiter() {
    on_stop_.reset();  // waits for a signal that is being sent
    if (wake_ >= 0) ::close(wake_);
}

void Waiter::set_timeout(std::chrono::milliseconds timeout) {
    deadline_ = after(timeout);
}

Waiter::Outcome Waiter::wait(int descriptor, short events) {
    return wait(descriptor, events, deadline_);
}

Waiter::Outcome Waiter::wait(int descriptor, short events, Clock::time_point until) {
    until = std::min(until, deadline_);
    const bool must_look = stop_.stop_possible() && wake_ < 0;
    while (!stop_.stop_requested()) {
        std::array<pollfd, 2> watched{pollfd{.fd = descriptor, .events = events},
                                      pollfd{.fd = wake_, .events = POLLIN}};
        const int left_ms = milliseconds_until(until);
        const int ready = ::poll(watched.data(), watched.size(),
                                 must_look ? std::min(left_ms, poll_interval_ms) : left_ms);
        CHECK(ready >= 0 || errno == EINTR || errno == ENOMEM);
        if (ready > 0 && watched[0].revents != 0) return Outcome::ready;
        if (ready == 0 && left_ms == 0) return Outcome::timed_out;
        if (ready == 0 && Clock::now() >= until) return Outcome::timed_out;
    }
    return Outcome::cancelled;
}

}  // namespace holdfast::net
