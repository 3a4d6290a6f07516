#pragma once

// Waiter: waits for sockets on behalf of one call, until a deadline or until a stop token says so.
//
// Thread safety: none; whoever requests the stop may be on any thread.

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

    // Waits until one of poll's `events` (or an error) is reported of the descriptor.
    [[nodiscard]] Outcome wait(int descriptor, short events);
    // The same, but not beyond `until` either.
    [[nodiscard]] Outcome wait(int descriptor, short events, Clock::time_point until);

    [[nodiscard]] Clock::time_point deadline() const { return deadline_; }
    // From now on.
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
