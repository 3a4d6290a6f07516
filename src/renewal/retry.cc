#include "renewal/retry.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace holdfast::renewal {

double random_share(base::RandomBits& random) {
    return static_cast<double>(random()) / static_cast<double>(UINT64_MAX) * 2 - 1;
}

bool sleep_for(std::chrono::nanoseconds time, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock guard(mutex);
    never.wait_for(guard, stop, time, [] { return false; });
    return !stop.stop_requested();
}

LockResult<Lease> retry(const std::function<LockResult<Lease>()>& acquire,
                        const RetryOptions& options, const std::stop_token& stop) {
    const auto begin = BootClock::now();
    base::RandomBits random;
    for (int attempt = 0;; ++attempt) {
        auto lease = acquire();
        if (lease) return lease;
        const auto* const held = std::get_if<LockHeld>(&lease.error());
        if (held == nullptr || attempt >= options.retries_max) return lease;
        const auto hint = held->retry_after.value_or(options.delay_min);
        const auto pause = std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::min(std::max(hint, options.delay_min), options.delay_max) *
            (1 + options.jitter * random_share(random)));
        if (options.wait_max && BootClock::now() + pause - begin > *options.wait_max) return lease;
        if (!sleep_for(pause, stop)) return LockError{LockCancelled{}};
    }
}

}  // namespace holdfast::renewal
