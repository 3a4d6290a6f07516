#pragma once

#include <chrono>
#include <optional>

namespace holdfast {

// How acquire_with_retry() repeats its request.
struct RetryOptions {
    int retries_max = 50;
    // The pause between two requests is the one that a server recommends (otherwise `delay_min`),
    // within these bounds, and varied at random by this share.
    std::chrono::milliseconds delay_min{25};
    std::chrono::milliseconds delay_max{1'000};
    double jitter = 0.2;
    // For all requests together. Absent: only the number of retries is limited.
    std::optional<std::chrono::milliseconds> wait_max;
};

}  // namespace holdfast
