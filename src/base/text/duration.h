#pragma once

// Durations as people write them: `30s`, `1m30s`, `250ms`, `1.5h`.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::base {

// Reads exactly what Go's time.ParseDuration reads: an optional sign, then one or more decimal
// numbers, each with an optional fraction and a unit of `ns`, `us` (also `µs`), `ms`, `s`, `m` or
// `h`, in any order and any number. `0` alone needs no unit; any other number does. What is finer
// than a nanosecond is cut off. No value where the text is anything else or the sum does not fit.
//
// It is for the caller to refuse zero and negative durations where they make no sense.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

// The same for long times: the text may also begin with a whole number of days, such as `7d` or
// `1d12h`.
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_long_duration(std::string_view text);

// The duration for a person: `1h`, `1m30s`, `1.5s`, `250ms`, `0s`. Nothing is rounded:
// parse_duration() gives back the same duration.
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace holdfast::base
