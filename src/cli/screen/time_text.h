#pragma once

// Times for people who look.

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::cli {

// `0.4s`, `24.5s`, `4m05s`, `2h03m`, `3d04h`: as exact as one wants to know, and never longer than
// six cells. What is over is `0.0s`.
[[nodiscard]] std::string countdown(std::chrono::milliseconds left);

// `2024-01-15T10:30:00.123Z`, of milliseconds since 1970; empty where there is no such year.
[[nodiscard]] std::string moment(std::int64_t unix_ms);

}  // namespace holdfast::cli
