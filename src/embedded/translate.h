#pragma once

// Translates between the types of the public headers and those of the engine.

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "holdfast/lease.h"
#include "holdfast/lock_error.h"
#include "service/ports/clock.h"
#include "service/request.h"

namespace holdfast::embedded {

// A duration that is too long for the engine becomes the longest that it has.
[[nodiscard]] core::Duration to_core(std::chrono::milliseconds duration);

[[nodiscard]] inline core::Mode to_core(LockMode mode) {
    return mode == LockMode::exclusive ? core::Mode::exclusive : core::Mode::shared;
}

// The time of the engine is that of BootClock. REQUIRES: the time is not centuries away.
[[nodiscard]] inline BootClock::time_point to_boot_time(core::Time time) {
    return BootClock::time_point{time.time_since_epoch()};
}

[[nodiscard]] Lease to_lease(const core::LeaseView& lease, const service::Clock& clock);

// All that are held, the oldest first.
[[nodiscard]] std::vector<Lease> to_leases(const std::vector<core::LockView>& locks,
                                           const service::Clock& clock);

// Why nothing was granted or done. REQUIRES: the response is a refusal or a failure.
[[nodiscard]] LockError to_error(const service::Response& response, const service::Clock& clock);

// The same of a request about a fence that was neither accepted nor stale.
[[nodiscard]] LockError to_error(const service::FenceOutcome& outcome);

}  // namespace holdfast::embedded
