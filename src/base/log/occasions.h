#pragma once

// Occasions: says when to write a line about something that may happen very often, and how often it
// has happened since the last line.
//
// Thread safety: none.

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace holdfast::base {

class Occasions {
  public:
    using TimePoint = std::chrono::steady_clock::time_point;

    // At most one line in an interval.
    explicit Occasions(std::chrono::milliseconds interval) : interval_(interval) {}

    // It has happened once more. Returns how often since the last line, if a line is due.
    [[nodiscard]] std::optional<std::uint64_t> count(TimePoint now) {
        ++count_;
        if (next_line_ && now < *next_line_) return std::nullopt;
        next_line_ = now + interval_;
        return std::exchange(count_, 0);
    }

  private:
    const std::chrono::milliseconds interval_;
    std::uint64_t count_ = 0;
    std::optional<TimePoint> next_line_;
};

}  // namespace holdfast::base
