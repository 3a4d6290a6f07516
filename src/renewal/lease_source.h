#pragma once

// LeaseSource: where the leases of guards come from: the engine inside a program, or a server.
//
// What a LockManager and a Client do alike is here. They differ in the virtual functions.
//
// Thread safety: everything from any thread. Lifetime: shared by a manager or client and its guards.

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>

#include "holdfast/election.h"
#include "holdfast/lease_guard.h"
#include "holdfast/retry_options.h"
#include "renewal/watcher.h"

namespace holdfast::renewal {

class LeaseSource : public std::enable_shared_from_this<LeaseSource> {
  public:
    LeaseSource() = default;
    LeaseSource(const LeaseSource&) = delete;
    LeaseSource& operator=(const LeaseSource&) = delete;
    virtual ~LeaseSource() = default;

    // As Client and LockManager say.
    [[nodiscard]] LockResult<LeaseGuard> hold(const LeaseRequest& request,
                                              std::chrono::milliseconds wait,
                                              HeartbeatOptions options,
                                              const std::stop_token& stop);
    [[nodiscard]] LockResult<LeaseGuard> start_heartbeat(const Lease& lease,
                                                         HeartbeatOptions options);
    [[nodiscard]] LockResult<LeaseGuard> campaign(const Candidacy& candidacy,
                                                  HeartbeatOptions options,
                                                  const std::stop_token& stop);
    [[nodiscard]] LockResult<Lease> acquire_with_retry(const LeaseRequest& request,
                                                       const RetryOptions& options,
                                                       const std::stop_token& stop);
    // start_heartbeat() for a lease that is released if it gets no guard.
    [[nodiscard]] LockResult<LeaseGuard> guard_or_release(const Lease& lease,
                                                          HeartbeatOptions options);
    // Stops renewing, and releases nothing. Nothing if the guard was released before. Does not wait for
    // `on_lost`. REQUIRES: the guard was not moved from, and comes from here.
    struct LetGo {
        Lease lease;
        std::optional<LockError> loss;  // why the guard was lost, if it was
    };
    [[nodiscard]] std::optional<LetGo> let_go(LeaseGuard guard);
    // Whether the lease of this guard comes from here.
    [[nodiscard]] bool has(const LeaseGuard& guard) const { return guard.source_.get() == this; }
    [[nodiscard]] virtual LockResult<Lease> acquire(const LeaseRequest& request,
                                                    std::chrono::milliseconds wait,
                                                    const std::stop_token& stop) = 0;

    // Why the caller must not wait here, if it must not.
    [[nodiscard]] virtual std::optional<LockError> why_not_block() const { return std::nullopt; }

    // Waits until the release is certain.
    virtual LockResult<void> release(const Lease& lease) = 0;
    // Asks once, and does not say whether it helped.
    virtual void release_quietly(const Lease& lease) = 0;

    [[nodiscard]] virtual Watcher& watcher() = 0;
};

}  // namespace holdfast::renewal
