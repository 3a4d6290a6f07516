#pragma once

// AsyncLocks: the calls of a LockManager for a program that must not wait: with a completion, or in a
// coroutine.
//
//     auto locks = manager.async(queue->executor());
//     locks.acquire(request, 1min, [](holdfast::LockResult<holdfast::Lease> lease) { ... });
//
//     const holdfast::LeaseRequest request{.scope = LockScope::Named{"nightly"}};  // see below
//     const auto lease = co_await locks.acquire(request, 1min);
//     if (!lease) co_return complain(to_text(lease.error()));
//     ...
//     co_await locks.release(*lease);
//
// No thread waits: a request that waits for a lock costs its memory and nothing else.
//
// Every completion is called once, after the call that it was given to has returned or at the same time
// on another thread, never inside it. The coroutine goes on where a completion would be called. That is:
//
//   with an executor      in the task that the executor was given, on whatever thread it runs that
//   without one           on the thread of the locks. Everything else waits meanwhile, so it must not
//                         block. It may call AsyncLocks. A call of the LockManager or of a guard that would
//                         have to wait for that thread is refused there: InvalidLockRequest.
//
// A completion throws nothing, unless its executor deals with that. Its results are delivered or not
// wanted, never both and never neither:
//
// - When a stop token is stopped, the result is LockCancelled and nothing is held, or the grant was
//   decided before and is delivered. (A lease under a request_id is kept: it may be known by that id.)
// - When the LockManager is destroyed, requests that wait get LockCancelled, and so do later ones. The
//   destructor waits until every completion was called or given to its executor, unless a completion
//   without an executor destroys the manager.
// - When a coroutine is destroyed while it waits, its request is cancelled. What it was granted meanwhile
//   is released. It must be destroyed on the thread on which it would go on, or while that thread
//   certainly does not make it go on.
// - When an executor destroys a task that it has not run, a lease or guard in it is released.
//
// Deadlocks are found between requests with a `waiter` (a transaction, a task) of their own. Without one,
// a request is nobody else's wait.
//
// g++ 12 destroys twice what braces make within a co_await expression. So a request or scope gets a name
// before it, as above.
//
// A value: a copy is the same locks. Thread safety: everything from any thread. Lifetime: may outlive its
// manager.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>

#include "holdfast/awaited.h"
#include "holdfast/completion_queue.h"
#include "holdfast/export.h"
#include "holdfast/lease.h"
#include "holdfast/lease_guard.h"
#include "holdfast/lock_result.h"

namespace holdfast {

namespace embedded {
class Engine;
}  // namespace embedded

class HOLDFAST_API AsyncLocks {
  public:
    // As LockManager says, without waiting. A wait of zero is a try.
    void acquire(const LeaseRequest& request, std::chrono::milliseconds wait,
                 Completion<Lease> completion, const std::stop_token& stop = {}) const;
    void hold(const LeaseRequest& request, std::chrono::milliseconds wait,
              Completion<LeaseGuard> completion, HeartbeatOptions options = {},
              const std::stop_token& stop = {}) const;
    void renew(const Lease& lease, std::optional<std::chrono::milliseconds> ttl,
               Completion<Lease> completion) const;
    void renew(std::string_view token, std::optional<std::chrono::milliseconds> ttl,
               Completion<Lease> completion) const;
    void release(const Lease& lease, Completion<void> completion) const;
    void release(std::string_view token, Completion<void> completion) const;
    // Of a guard of the same manager. Does not wait for its `on_lost`.
    void release(LeaseGuard guard, Completion<void> completion) const;
    void get_by_token(std::string_view token, Completion<Lease> completion) const;
    void check(std::string_view token, const LockScope& scope, LockMode mode,
               Completion<Lease> completion) const;

    // The same for coroutines. Nothing is asked before co_await.
    [[nodiscard]] Awaited<Lease> acquire(const LeaseRequest& request,
                                         std::chrono::milliseconds wait,
                                         const std::stop_token& stop = {}) const;
    [[nodiscard]] Awaited<LeaseGuard> hold(const LeaseRequest& request,
                                           std::chrono::milliseconds wait,
                                           HeartbeatOptions options = {},
                                           const std::stop_token& stop = {}) const;
    [[nodiscard]] Awaited<Lease> renew(const Lease& lease,
                                       std::optional<std::chrono::milliseconds> ttl = {}) const;
    [[nodiscard]] Awaited<Lease> renew(std::string_view token,
                                       std::optional<std::chrono::milliseconds> ttl = {}) const;
    [[nodiscard]] Awaited<void> release(const Lease& lease) const;
    [[nodiscard]] Awaited<void> release(std::string_view token) const;
    [[nodiscard]] Awaited<void> release(LeaseGuard guard) const;
    [[nodiscard]] Awaited<Lease> get_by_token(std::string_view token) const;
    // Does not wait at all if LockManager::check() would not ask another thread.
    [[nodiscard]] Awaited<Lease> check(std::string_view token, const LockScope& scope,
                                       LockMode mode = LockMode::exclusive) const;

  private:
    friend class LockManager;
    AsyncLocks(std::shared_ptr<embedded::Engine> engine, Executor executor);

    std::shared_ptr<embedded::Engine> engine_;
    std::shared_ptr<const Executor> executor_;  // null: none
};

}  // namespace holdfast
