#pragma once

// When asking again for a lock that is held makes sense.

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "service/request.h"
#include "service/wait_limits.h"

namespace holdfast::doors::answers {

inline constexpr std::int64_t retry_min_ms = 25, retry_max_ms = 1'000, busy_retry_ms = 50;

// How long the place of a wait that goes on is kept in the queue.
inline constexpr std::int64_t place_kept_ms =
    std::chrono::duration_cast<std::chrono::milliseconds>(service::WaitLimits{}.place_kept).count();

// A quarter of what is left of the lease that is in the way.
[[nodiscard]] inline std::int64_t recommend_retry_ms(const service::Response& response) {
    const core::Duration rest = response.outcome.lease.grace_until - response.now;
    const auto quarter = std::chrono::duration_cast<std::chrono::milliseconds>(rest / 4);
    return std::clamp<std::int64_t>(quarter.count(), retry_min_ms, retry_max_ms);
}

}  // namespace holdfast::doors::answers
