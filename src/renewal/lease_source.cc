#include "renewal/lease_source.h"

#include <utility>

#include "base/check.h"
#include "renewal/retry.h"

namespace holdfast::renewal {

LockResult<LeaseGuard> LeaseSource::hold(const LeaseRequest& request,
                                         std::chrono::milliseconds wait, HeartbeatOptions options,
                                         const std::stop_token& stop) {
    if (auto fault = Pace::of(options, request.ttl).find_fault(request.ttl)) {
        return *std::move(fault);
    }
    const auto lease = acquire(request, wait, stop);
    if (!lease) return lease.error();
    return guard_or_release(*lease, std::move(options));
}

// The answer may have taken so long that the lease has ended, or nearly.
LockResult<LeaseGuard> LeaseSource::guard_or_release(const Lease& lease, HeartbeatOptions options) {
    auto guard = start_heartbeat(lease, std::move(options));
    if (!guard) release_quietly(lease);
    return guard;
}

LockResult<LeaseGuard> LeaseSource::start_heartbeat(const Lease& lease, HeartbeatOptions options) {
    auto hold = watcher().keep(lease, std::move(options));
    if (!hold) return hold.error();
    return LeaseGuard(shared_from_this(), *std::move(hold));
}

std::optional<LeaseSource::LetGo> LeaseSource::let_go(LeaseGuard guard) {
    CHECK(guard.hold_ && has(guard));
    if (std::exchange(guard.is_released_, true)) return std::nullopt;
    auto loss = watcher().let_go_without_waiting(guard.hold_);
    return LetGo{.lease = guard.lease(), .loss = std::move(loss)};
}

LockResult<LeaseGuard> LeaseSource::campaign(const Candidacy& candidacy, HeartbeatOptions options,
                                             const std::stop_token& stop) {
    return hold({.scope = LockScope::Named{candidacy.election},
                 .holder = candidacy.candidate,
                 .ttl = candidacy.ttl,
                 .value = candidacy.value},
                std::chrono::milliseconds::max(), std::move(options), stop);
}

LockResult<Lease> LeaseSource::acquire_with_retry(const LeaseRequest& request,
                                                  const RetryOptions& options,
                                                  const std::stop_token& stop) {
    const auto ask = [&] { return acquire(request, std::chrono::milliseconds{0}, stop); };
    return retry(ask, options, stop);
}

}  // namespace holdfast::renewal
