#pragma once

// LockManager: the lock engine inside a program, without a server. Client (holdfast/client.h) has the
// same methods for the locks of a server.
//
//     auto manager = holdfast::LockManager::open({.path = "locks.db"});
//     auto lease = manager->acquire({.scope = LockScope::Inode{7}, .holder = "writer-1"}, 1min);
//     ...
//     const LockScope written = LockScope::ByteRange{7, 0, 4096};
//     if (auto checked = manager->check(lease->token, written); !checked) {
//         return refuse(checked.error());
//     }
//     do_write(...);
//     auto released = manager->release(*lease);
//
// Never two holders: a lock has one exclusive holder, or shared ones; a semaphore has no more than
// its limit. Requests are granted in the order in which they came; a waiting call wakes when it is
// granted the lock. A lease that has ended never comes back. With a path, the results of calls
// survive the program: a lease that was held is held again, for its whole ttl, when the file is
// opened again, and fencing tokens never become smaller. Without a path, nothing survives.
//
// A program that must not wait asks with completions or in coroutines: async().
//
// Thread safety: everything from any thread. Lifetime: destroyed when no blocking call is under way;
// guards may outlive it. A child after fork() must not use its parent's manager.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/async_locks.h"
#include "holdfast/election.h"
#include "holdfast/export.h"
#include "holdfast/lease.h"
#include "holdfast/lease_guard.h"
#include "holdfast/lock_error.h"
#include "holdfast/lock_event.h"
#include "holdfast/lock_result.h"
#include "holdfast/retry_options.h"

namespace holdfast {

// The name of a LeaseGuard in the design that the manager follows.
using LockHandle = LeaseGuard;

struct LockManagerOptions {
    // The file that keeps the leases; it has one manager (or server) at a time. Empty: nothing is
    // kept.
    std::string path;
    // Leases and waits together. A shared lock counts once for each holder.
    std::size_t leases_max = 1'000'000;
    // Of one holder, including those that it waits for.
    std::size_t leases_per_holder_max = 100'000;
    std::size_t waiters_max = 100'000;
    std::chrono::milliseconds ttl_max = std::chrono::hours{24 * 366};
    // How many leases check() knows without asking another thread: those that were granted or found
    // last. Each takes about 400 bytes.
    std::size_t known_leases_max = 65'536;
};

class HOLDFAST_API LockManager {
  public:
    // Fails with a LockStoreFailure when the file is in use, is not one of ours, or cannot be
    // written.
    [[nodiscard]] static LockResult<LockManager> open(const LockManagerOptions& options = {});
    LockManager(LockManager&&) noexcept;
    LockManager& operator=(LockManager&&) noexcept;
    ~LockManager();

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
    // Waits in the queue for `wait` at most (milliseconds::max(): without an end), then fails with
    // LockHeld. When `stop` is requested, fails with LockCancelled, and nothing is held.
    [[nodiscard]] LockResult<Lease> acquire(const LeaseRequest& request,
                                            std::chrono::milliseconds wait,
                                            const std::stop_token& stop = {});

    // Repeats its request without waiting in the queue. Prefer acquire(), which is served in order.
    // Fails with the last LockHeld.
    [[nodiscard]] LockResult<Lease> acquire_with_retry(const LeaseRequest& request,
                                                       const RetryOptions& options = {},
                                                       const std::stop_token& stop = {});

    // The lease lasts for `ttl` (or its old ttl) from now on. LockExpired if it has ended.
    [[nodiscard]] LockResult<Lease> renew(const Lease& lease,
                                          std::optional<std::chrono::milliseconds> ttl = {});
    // The same, for a program that has kept nothing but the token.
    [[nodiscard]] LockResult<Lease> renew(std::string_view token,
                                          std::optional<std::chrono::milliseconds> ttl = {});
    // Releases the lease. LockExpired if it has ended before.
    LockResult<void> release(const Lease& lease);
    LockResult<void> release(std::string_view token);
    // The lease of this token, as it is now.
    [[nodiscard]] LockResult<Lease> get_by_token(std::string_view token);

    // Renews a lease from now on: one that was acquired without a guard, or found again after a
    // restart. Fails if the lease has ended, is not guaranteed any more, has a guard already, or
    // would be lost before its first renewal.
    [[nodiscard]] LockResult<LeaseGuard> start_heartbeat(const Lease& lease,
                                                         HeartbeatOptions options = {});

    // Whether the holder of `token` may now do work that needs a lock on `scope`. Returns the lease,
    // or LockExpired, LockNotFound or LockScopeMismatch. A shared lease is not enough to write.
    //
    // While a lease is held, this reads what the manager has last told about it, on the caller's own
    // thread, and compares its end with the clock on which leases run (BootClock). So a lease is never
    // reported as held after somebody was told that it was released, or granted to the next one, or
    // after its time was over. The manager's thread is asked about every other token.
    //
    // The lease may end between this check and the write that follows. Where that matters, pass the
    // fencing token on to the storage, and let it refuse smaller ones than the largest it has seen.
    [[nodiscard]] LockResult<Lease> check(std::string_view token, const LockScope& scope,
                                          LockMode mode = LockMode::exclusive);

    // To be called before every use of a resource that cannot compare fencing tokens itself.
    // StaleFence if a larger fencing token was used before; else returns the largest, this one. With
    // a path, it is on disk when this returns.
    [[nodiscard]] LockResult<std::uint64_t> pass_fence(std::string_view resource,
                                                       std::uint64_t fencing_token);
    // The largest fencing token that was used for the resource, if there was one.
    [[nodiscard]] LockResult<std::optional<std::uint64_t>> get_fence(std::string_view resource);
    // Forgets the resource. Returns the largest fencing token so far, if there was one.
    LockResult<std::optional<std::uint64_t>> drop_fence(std::string_view resource);

    // Every lease that is held, the oldest first, with its token. Looks at all of them: for people.
    [[nodiscard]] LockResult<std::vector<Lease>> list();

    // Ends every lease on the scope, whoever holds it. A guard is lost at once; other holders learn of
    // it at their next renewal. Returns how many there were.
    LockResult<std::uint64_t> force_release(const LockScope& scope);

    // Waits until the candidate leads, or until `stop` is requested. The candidate leads while the
    // guard is guaranteed, and resigns by releasing the guard.
    [[nodiscard]] LockResult<LeaseGuard> campaign(const Candidacy& candidacy,
                                                  HeartbeatOptions options = {},
                                                  const std::stop_token& stop = {});
    // Changes what the leader tells everybody; they see it when this returns. Returns the lease with
    // its value and revision. LockExpired if it has ended. The lease is not renewed.
    LockResult<Lease> set_value(const Lease& lease, std::string_view value);
    // Calls `on_change` on this thread with the leader (or nullopt) now, and after every change of
    // the leader or its value. Returns when `stop` is requested. An error if the store fails.
    // It may call the manager, but for what would wait for this thread.
    LockResult<void> observe(std::string_view election,
                             const std::function<void(const std::optional<Leader>&)>& on_change,
                             const std::stop_token& stop);

    // Calls `on_event` on this thread with every event of the locks from now on. The last 10 000 are
    // remembered for a program that is slow; beyond that, there is a gap. An event that is known
    // already (`after`) is known to the manager that told it only. Returns when `stop` is requested.
    LockResult<void> watch(const WatchOptions& options,
                           const std::function<void(const LockEvent&)>& on_event,
                           const std::stop_token& stop);

    // The same locks, for completions and coroutines. They run where the executor runs its tasks; without
    // one, on the manager's thread, where they must not block.
    [[nodiscard]] AsyncLocks async(Executor executor = {}) const;

  private:
    friend class embedded::Engine;
    explicit LockManager(std::shared_ptr<embedded::Engine> engine);
    void close();

    std::shared_ptr<embedded::Engine> engine_;
};

}  // namespace holdfast
