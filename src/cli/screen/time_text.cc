#include "cli/screen/time_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/rfc3339.h"

namespace holdfast::cli {

std::string countdown(std::chrono::milliseconds left) {
    const std::int64_t ms = std::max<std::int64_t>(left.count(), 0);
    const std::int64_t seconds = ms / 1000;
    if (seconds < 60) return fmt::format("{}.{}s", seconds, ms % 1000 / 100);
    if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
    if (seconds < 86400) return fmt::format("{}h{:02}m", seconds / 3600, seconds % 3600 / 60);
    const std::int64_t days = seconds / 86400;
    if (days < 100) return fmt::format("{}d{:02}h", days, seconds % 86400 / 3600);
    return fmt::format("{}d", std::min<std::int64_t>(days, 99999));
}

std::string moment(std::int64_t unix_ms) {
    constexpr std::int64_t end_of_9999 = 253'402'300'800'000;
    if (unix_ms < 0 || unix_ms >= end_of_9999) return {};
    std::string text;
    base::append_rfc3339(
        text, std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds{unix_ms}));
    return text;
}

}  // namespace holdfast::cli
