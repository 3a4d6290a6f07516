#pragma once

// Client: locks of a Holdfast server, for a program.
//
//     auto client = holdfast::Client::open();
//     auto guard = client->hold({.scope = LockScope::Named{"nightly"}}, 1min);
//     if (!guard) return complain(to_text(guard.error()));
//     while (guard->is_guaranteed() && store_next_part(guard->fencing_token())) {
//     }
//     if (auto released = guard->release(); !released) undo();
//
// Every request that gets no answer is asked again, for `retry_for`. An acquire carries an id by
// which the server knows it: if only its answer was lost, the repetition finds the same lease, and
// nothing is left behind that nobody knows of. What cannot be harmless twice is asked once.
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
#include <type_traits>
#include <utility>

#include "holdfast/client_options.h"
#include "holdfast/election.h"
#include "holdfast/export.h"
#include "holdfast/lease.h"
#include "holdfast/lease_guard.h"
#include "holdfast/lock_error.h"
#include "holdfast/lock_event.h"
#include "holdfast/lock_result.h"

namespace holdfast {

// How acquire_with_retry() asks again and again.
struct RetryOptions {
    int retries_max = 50;
    // Between two of them: what the server recommends, within these bounds, more or less this
    // share of it.
    std::chrono::milliseconds delay_min{25};
    std::chrono::milliseconds delay_max{1'000};
    double jitter = 0.2;
    // In all; without one, only the number of retries is an end.
    std::optional<std::chrono::milliseconds> wait_max;
};

// Any request to the server, for what has no method here.
struct ServerRequest {
    std::string method = "GET";
    std::string target;         // "/v1/locks?prefix=job-"
    std::string body;           // JSON, or nothing
    bool is_repeatable = true;  // false: asked once, over a connection of its own
    std::stop_token stop;
};

struct ServerAnswer {
    int status = 0;
    std::string body;
};

class HOLDFAST_API Client {
  public:
    // Connects to nobody yet. Fails with an InvalidLockRequest that names what is wrong with the
    // options.
    [[nodiscard]] static LockResult<Client> open(
        const ClientOptions& options = ClientOptions::from_environment());
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;
    ~Client();

    // Waits for a lock, and keeps it renewed until the guard is gone: the one line.
    [[nodiscard]] LockResult<LeaseGuard> hold(const LeaseRequest& request,
                                              std::chrono::milliseconds wait,
                                              HeartbeatOptions options = {},
                                              std::stop_token stop = {});

    // Calls function(LeaseGuard&) with the lock held and renewed, and returns what that returns. An
    // error if the lock could not be had, or if it was lost before the function was done: then what
    // it did may have been too late. What the function throws goes through, after the release.
    template <class Function>
    LockResult<std::decay_t<std::invoke_result_t<Function, LeaseGuard&>>> with_lock(
        const LeaseRequest& request, std::chrono::milliseconds wait, Function&& function,
        HeartbeatOptions options = {}, std::stop_token stop = {}) {
        auto guard = hold(request, wait, std::move(options), std::move(stop));
        if (!guard) return guard.error();
        if constexpr (std::is_void_v<std::invoke_result_t<Function, LeaseGuard&>>) {
            std::forward<Function>(function)(*guard);
            return guard->release();
        } else {
            auto value = std::forward<Function>(function)(*guard);
            if (auto released = guard->release(); !released) return released.error();
            return value;
        }
    }

    // Now or never. Does not overtake those who wait.
    [[nodiscard]] LockResult<Lease> try_acquire(const LeaseRequest& request);
    // Waits in the server's queue, so long at most; LockHeld after that. (The server lets nobody
    // wait for longer than ten minutes; who wants to is asked for again.) When `stop` says so,
    // LockCancelled: nothing is held then, unless the server could not be told, which is tried for
    // a few seconds; it ends after its ttl.
    [[nodiscard]] LockResult<Lease> acquire(const LeaseRequest& request,
                                            std::chrono::milliseconds wait,
                                            std::stop_token stop = {});
    // Asks again and again, at the pace the server recommends, without standing in its queue.
    // Prefer acquire(), which is served in order. The last LockHeld when it gives up.
    [[nodiscard]] LockResult<Lease> acquire_with_retry(const LeaseRequest& request,
                                                       const RetryOptions& options = {},
                                                       std::stop_token stop = {});

    // The lease begins anew, for `ttl` or as long as it was. LockExpired or LockNotFound if it is
    // over. A shorter ttl may have taken effect although there is no answer.
    [[nodiscard]] LockResult<Lease> renew(const Lease& lease,
                                          std::optional<std::chrono::milliseconds> ttl = {});
    // Gives the lease back. A second time, or after it has ended: LockExpired. If an answer was
    // lost and the repetition finds the lease gone, it was given back.
    LockResult<void> release_once(const Lease& lease);
    // The lease of this token, as the server knows it. It is not guaranteed before it is renewed.
    [[nodiscard]] LockResult<Lease> get_by_token(std::string_view token);

    // Keeps a lease renewed from now on. Fails if it is over, is not guaranteed any more, or would
    // be lost before its first renewal.
    [[nodiscard]] LockResult<LeaseGuard> start_heartbeat(const Lease& lease,
                                                         HeartbeatOptions options = {});

    // Shows a fencing token for a resource that cannot remember such numbers itself: before every
    // use of it. StaleFence if a larger one was shown before; else the largest, which is this one.
    [[nodiscard]] LockResult<std::uint64_t> pass_fence(std::string_view resource,
                                                       std::uint64_t fencing_token);
    // The largest fencing token that was shown for the resource, if any was.
    [[nodiscard]] LockResult<std::optional<std::uint64_t>> get_fence(std::string_view resource);
    // Whether the holder of `token` may do now what takes a lock on `scope`, for whoever does the
    // protected work: the lease, or LockExpired, LockNotFound, LockScopeMismatch. A shared lease is
    // not enough to write.
    [[nodiscard]] LockResult<Lease> check(std::string_view token, const LockScope& scope,
                                          LockMode mode = LockMode::exclusive);

    // Waits until it leads, however long that takes, or `stop` says so. It leads while the guard is
    // guaranteed; releasing the guard resigns.
    [[nodiscard]] LockResult<LeaseGuard> campaign(const Candidacy& candidacy,
                                                  HeartbeatOptions options = {},
                                                  std::stop_token stop = {});
    // Calls `on_change` with the leader, or nobody, as it is and whenever it changes, on this
    // thread. Returns when `stop` says so; an error if the server does not answer for `retry_for`,
    // or does not want to.
    LockResult<void> observe(std::string_view election,
                             const std::function<void(const std::optional<Leader>&)>& on_change,
                             std::stop_token stop);

    // Calls `on_event` with everything that happens to locks, on this thread. If the connection
    // breaks, it goes on after the last event that was told. Returns as observe() does.
    LockResult<void> watch(const WatchOptions& options,
                           const std::function<void(const LockEvent&)>& on_event,
                           std::stop_token stop);

    // Any answer at all is one, whatever its status.
    [[nodiscard]] LockResult<ServerAnswer> ask(const ServerRequest& request);

  private:
    explicit Client(std::shared_ptr<sdk::Session> session);

    std::shared_ptr<sdk::Session> session_;
};

}  // namespace holdfast
