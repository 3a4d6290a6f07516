#include "renewal/lease_source.h"

#include <utility>

namespace holdfast::renewal {

LockResult<LeaseGuard> LeaseSource::hold(const LeaseRequest& request,
                                         std::chrono::milliseconds wait, HeartbeatOptions options,
                                         const std::stop_token& stop) {
    if (auto fault = Pace::of(options, request.ttl).find_fault(request.ttl)) {
        return *std::move(fault);
    }
    const auto lease = acquire(request, wait, stop);
    if (!lease) return lease.error();
    auto guard = start_heartbeat(*lease, std::move(options));
    // The answer took so long that the lease has ended, or nearly.
    if (!guard) release_quietly(*lease);
    return guard;
}

LockResult<LeaseGuard> LeaseSource::start_heartbeat(const Lease& lease, HeartbeatOptions options) {
    auto hold = watcher().keep(lease, std::move(options));
    if (!hold) return hold.error();
    return LeaseGuard(shared_from_this(), *std::move(hold));
}

}  // namespace holdfast::renewal
