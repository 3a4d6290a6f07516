#pragma once

// Waiter: waits for sockets on behalf of one call, until the deadline of the call, or until the call
// is cancelled through a stop token.
//
// Thread safety: none, but any thread may request the stop.

#include <chrono>
#include <optional>
#include <stop_token>

namespace holdfast::net {

class Waiter {
  public:
    using Clock = std::chrono::steady_clock;
    enum class Outcome { ready, timed_out, cancelled };

    Waiter(std::chrono::milliseconds timeout, const std::stop_token& stop);
    ~Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    // Waits until poll() reports one of `events`, or an error, for the descriptor.
    [[nodiscard]] Outcome wait(int descriptor, short events);
    // The same, but only until `until`.
    [[nodiscard]] Outcome wait(int descriptor, short events, Clock::time_point until);
    // Waits for nothing but the time: timed_out or cancelled.
    [[nodiscard]] Outcome pause(Clock::time_point until) { return wait(-1, 0, until); }

    [[nodiscard]] Clock::time_point deadline() const { return deadline_; }
    // The deadline is `timeout` from now.
    void set_timeout(std::chrono::milliseconds timeout);

  private:
    struct Signal {
        int descriptor;
        void operator()() const noexcept;
    };

    Clock::time_point deadline_;
    std::stop_token stop_;
    int wake_ = -1;  // an eventfd, if there may be a stop
    std::optional<std::stop_callback<Signal>> on_stop_;
};

}  // namespace holdfast::net
