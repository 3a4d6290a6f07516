#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace holdfast::net {

// How slowly a body may arrive that is taken in pieces.
struct BodyPaceLimits {
    // A body may take this long, however little of it comes. Zero: there is no limit at all.
    std::chrono::milliseconds grace{10'000};
    // After that, so many bytes a second must have come on average. 0: there is no limit.
    std::uint64_t bytes_per_second_min = 1024;
};

// BodyPace: whether a body arrives fast enough.
//
// A timeout that begins anew with every byte lets a peer keep a request going for ever, and the
// lock that the request holds, with a byte now and then. So the average counts: a body may take the
// grace, and one second more for each bytes_per_second_min that have come. Only the time counts in
// which the server was ready to read: run() and pause() tell when that is.
//
// Thread safety: none.
class BodyPace {
  public:
    using Clock = std::chrono::steady_clock;
    using TimePoint = Clock::time_point;

    // The server reads, from now on. Does nothing if it did before.
    void run(TimePoint now) {
        if (!running_since_) running_since_ = now;
    }
    // The server does not read.
    void pause(TimePoint now) {
        if (running_since_) spent_ += now - *running_since_;
        running_since_.reset();
    }
    void count(std::uint64_t bytes) { bytes_ += bytes; }

    [[nodiscard]] bool is_too_slow(const BodyPaceLimits& limits, TimePoint now) const {
        if (limits.grace == limits.grace.zero() || limits.bytes_per_second_min == 0) return false;
        const auto spent = running_since_ ? spent_ + (now - *running_since_) : spent_;
        if (spent <= limits.grace) return false;
        const std::chrono::duration<double> beyond = spent - limits.grace;
        const auto needed = beyond.count() * static_cast<double>(limits.bytes_per_second_min);
        return static_cast<double>(bytes_) < needed;
    }

  private:
    std::optional<TimePoint> running_since_;
    Clock::duration spent_{0};
    std::uint64_t bytes_ = 0;
};

}  // namespace holdfast::net
