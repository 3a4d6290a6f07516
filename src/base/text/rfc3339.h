#pragma once

// Points in time as RFC 3339 text in UTC.

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::base {

// `2024-01-15T10:30:00Z`, without memory of the heap.
// REQUIRES: the year has four digits (0 to 9999).
class Rfc3339Text {
  public:
    explicit Rfc3339Text(std::chrono::sys_seconds time);

    [[nodiscard]] std::string_view view() const { return {text_.data(), text_.size()}; }

  private:
    std::array<char, 20> text_;
};

// Append `2024-01-15T10:30:00Z` and `2024-01-15T10:30:00.123Z`.
// REQUIRES: the year has four digits (0 to 9999).
void append_rfc3339(std::string& out, std::chrono::sys_seconds time);
void append_rfc3339(std::string& out, std::chrono::sys_time<std::chrono::milliseconds> time);

// The same for a time of any precision, rounded down: what is printed has always been reached.
template <class Duration>
void append_rfc3339_seconds(std::string& out, std::chrono::sys_time<Duration> time) {
    append_rfc3339(out, std::chrono::floor<std::chrono::seconds>(time));
}

template <class Duration>
void append_rfc3339_milliseconds(std::string& out, std::chrono::sys_time<Duration> time) {
    append_rfc3339(out, std::chrono::floor<std::chrono::milliseconds>(time));
}

// The moment that append_rfc3339() wrote as `text`, with or without milliseconds. Nothing for
// anything else.
[[nodiscard]] std::optional<std::chrono::sys_time<std::chrono::milliseconds>> parse_rfc3339(
    std::string_view text);

}  // namespace holdfast::base
