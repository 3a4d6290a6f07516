#pragma once

// Client: locks of a Holdfast server, for a program. LockManager (holdfast/lock_manager.h) has the same
// methods for locks inside a program.
//
//     auto client = holdfast::Client::open();
//     auto guard = client->hold({.scope = LockScope::Named{"nightly"}}, 1min);
//     if (!guard) return complain(to_text(guard.error()));
//     while (guard->is_guaranteed() && store_next_part(guard->fencing_token())) {
//     }
//     if (auto released = guard->release(); !released) undo();
//
// A request without an answer is repeated, for `retry_for`. An acquire carries an id: if only its
// answer was lost, the repetition finds the same lease, so that no lease is left behind that nobody
// knows of. A request that could do harm when it is done twice is sent once.
//
// Thread safety: everything from any thread. Lifetime: destroyed when no call is under way; guards
// may outlive it. A child after fork() must not use its parent's client.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/client_options.h"
#include "holdfast/election.h"
#include "holdfast/export.h"
#include "holdfast/lease.h"
#include "holdfast/lease_guard.h"
#include "holdfast/lock_error.h"
#include "holdfast/lock_event.h"
#include "holdfast/lock_result.h"
#include "holdfast/retry_options.h"

namespace holdfast {

namespace sdk {
class Session;
}  // namespace sdk

// Any request to the server, for requests that have no method here.
struct ServerRequest {
    std::string method = "GET";
    std::string target;         // "/v1/locks?prefix=job-"
    std::string body;           // JSON, or nothing
    bool is_repeatable = true;  // false: sent once, over a connection of its own
    std::stop_token stop;
};

struct ServerAnswer {
    int status = 0;
    std::string body;
};

class HOLDFAST_API Client {
  public:
    // Does not connect yet. Fails with an InvalidLockRequest that names what is wrong with the
    // options.
    [[nodiscard]] static LockResult<Client> open(
        const ClientOptions& options = ClientOptions::from_environment());
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    ~Client();

    // Waits for a lock, and renews it until the guard is destroyed.
    [[nodiscard]] LockResult<LeaseGuard> hold(const LeaseRequest& request,
                                              std::chrono::milliseconds wait,
                                              HeartbeatOptions options = {},
                                              const std::stop_token& stop = {});

    // Calls function(LeaseGuard&) while the lock is held and renewed, and returns its result. An
    // error if the lock was not granted, or if it was lost before the function returned: then the
    // work of the function may have been too late. Exceptions of the function are passed on after
    // the release.
    template <class Function>
    LockedResult<Function> with_lock(const LeaseRequest& request, std::chrono::milliseconds wait,
                                     Function&& function, HeartbeatOptions options = {},
                                     const std::stop_token& stop = {}) {
        return call_under(hold(request, wait, std::move(options), stop),
                          std::forward<Function>(function));
    }

    // Does not wait, and does not overtake waiters.
    [[nodiscard]] LockResult<Lease> try_acquire(const LeaseRequest& request);
    // Waits in the server's queue for `wait` at most, then fails with LockHeld. (A wait of more than
    // ten minutes takes several requests; the place in the queue stays the same.) When `stop` is
    // requested, fails with LockCancelled. Then nothing is held, unless the server does not answer
    // for a few seconds; a lease that was granted meanwhile ends after its ttl.
    [[nodiscard]] LockResult<Lease> acquire(const LeaseRequest& request,
                                            std::chrono::milliseconds wait,
                                            const std::stop_token& stop = {});
    // Repeats its request at the pace that the server recommends, without waiting in the queue.
    // Prefer acquire(), which is served in order. Fails with the last LockHeld.
    [[nodiscard]] LockResult<Lease> acquire_with_retry(const LeaseRequest& request,
                                                       const RetryOptions& options = {},
                                                       const std::stop_token& stop = {});

    // The lease lasts for `ttl` (or its old ttl) from now on. LockExpired or LockNotFound if it has
    // ended. A shorter ttl may have taken effect although there is no answer.
    [[nodiscard]] LockResult<Lease> renew(const Lease& lease,
                                          std::optional<std::chrono::milliseconds> ttl = {});
    // The same, for a program that has kept nothing but the token.
    [[nodiscard]] LockResult<Lease> renew(std::string_view token,
                                          std::optional<std::chrono::milliseconds> ttl = {});
    // Releases the lease. LockExpired if it has ended before. If an answer was lost and the
    // repetition finds no lease, the lease counts as released.
    LockResult<void> release(const Lease& lease);
    LockResult<void> release(std::string_view token);
    // The lease of this token, as the server shows it. It is guaranteed only after a renewal.
    [[nodiscard]] LockResult<Lease> get_by_token(std::string_view token);

    // Renews a lease from now on. Fails if the lease has ended, is not guaranteed any more, has a
    // guard already, or would be lost before its first renewal.
    [[nodiscard]] LockResult<LeaseGuard> start_heartbeat(const Lease& lease,
                                                         HeartbeatOptions options = {});

    // To be called before every use of a resource that cannot compare fencing tokens itself.
    // StaleFence if a larger fencing token was used before; else returns the largest, this one.
    [[nodiscard]] LockResult<std::uint64_t> pass_fence(std::string_view resource,
                                                       std::uint64_t fencing_token);
    // The largest fencing token that was used for the resource, if there was one.
    [[nodiscard]] LockResult<std::optional<std::uint64_t>> get_fence(std::string_view resource);
    // Forgets the resource; for admins. Returns the largest fencing token so far, if there was one.
    LockResult<std::optional<std::uint64_t>> drop_fence(std::string_view resource);
    // Whether the holder of `token` may now do work that needs a lock on `scope`. Returns the lease,
    // or LockExpired, LockNotFound or LockScopeMismatch. A shared lease is not enough to write.
    [[nodiscard]] LockResult<Lease> check(std::string_view token, const LockScope& scope,
                                          LockMode mode = LockMode::exclusive);

    // Every lease that is held and that the client may see, the oldest first. A server tells nobody the
    // tokens of others: `token` is empty. Asks for one page after the other: for people.
    [[nodiscard]] LockResult<std::vector<Lease>> list();

    // Ends every lease on the scope, whoever holds it; for admins. The holders are not stopped by
    // this: they learn of it at their next renewal. Returns how many there were.
    LockResult<std::uint64_t> force_release(const LockScope& scope);

    // Waits until the candidate leads, or until `stop` is requested. The candidate leads while the
    // guard is guaranteed, and resigns by releasing the guard.
    [[nodiscard]] LockResult<LeaseGuard> campaign(const Candidacy& candidacy,
                                                  HeartbeatOptions options = {},
                                                  const std::stop_token& stop = {});
    // Changes what the leader tells everybody; they see it when this returns. Returns the lease with
    // its value and revision. LockExpired or LockNotFound if it has ended. The lease is not renewed.
    // For a guard: set_value(guard.lease(), "10.0.0.2").
    LockResult<Lease> set_value(const Lease& lease, std::string_view value);
    // Calls `on_change` on this thread with the leader (or nullopt) now, and after every change of
    // the leader or its value. If the connection breaks, it goes on with the leader of then.
    // Returns when `stop` is requested. An error if the server refuses, or does not answer for
    // `retry_for`.
    LockResult<void> observe(std::string_view election,
                             const std::function<void(const std::optional<Leader>&)>& on_change,
                             const std::stop_token& stop);

    // Calls `on_event` on this thread with every event of the server's locks. If the connection
    // breaks, it goes on after the last event. Returns as observe() does.
    LockResult<void> watch(const WatchOptions& options,
                           const std::function<void(const LockEvent&)>& on_event,
                           const std::stop_token& stop);

    // Every answer is a success, whatever its status.
    [[nodiscard]] LockResult<ServerAnswer> ask(const ServerRequest& request);

  private:
    explicit Client(std::shared_ptr<sdk::Session> session);

    std::shared_ptr<sdk::Session> session_;
};

}  // namespace holdfast
