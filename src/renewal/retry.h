#pragma once

// How requests are repeated.

#include <chrono>
#include <functional>
#include <stop_token>

#include "base/crypto.h"
#include "holdfast/lease.h"
#include "holdfast/lock_result.h"
#include "holdfast/retry_options.h"

namespace holdfast::renewal {

// A number from -1 to 1.
[[nodiscard]] double random_share(base::RandomBits& random);

// Sleeps until the time is over, or a stop is requested. False if a stop was requested.
bool sleep_for(std::chrono::nanoseconds time, const std::stop_token& stop);

// What acquire_with_retry() of Client and LockManager does: calls `acquire`, which does not wait, until
// the lock is not held.
[[nodiscard]] LockResult<Lease> retry(const std::function<LockResult<Lease>()>& acquire,
                                      const RetryOptions& options, const std::stop_token& stop);

}  // namespace holdfast::renewal
