#pragma once

// LockManager: the lock engine inside a program, without a server.
//
//     auto manager = holdfast::LockManager::open({.path = "locks.db"});
//     auto lock = manager->acquire({.scope = LockScope::Inode{7}, .holder = "writer-1"});
//     ...
//     if (auto checked = manager->check(lock->token, LockScope::ByteRange{7, 0, 4096}); !checked) {
//         return refuse(checked.error());
//     }
//     do_write(...);
//     auto released = manager->release(lock->token);
//
// Never two holders: a lock has one exclusive holder, or shared ones. Requests are granted in the
// order in which they came; a waiting call wakes when it is granted the lock. A lease that has ended
// never comes back. With a path, the results of calls survive the program: a lock that was held is
// held again, for its whole duration, when the file is opened again, and fencing tokens never become
// smaller. Without a path, nothing survives.
//
// Thread safety: everything from any thread. Lifetime: destroyed when no call is under way; handles
// may outlive it. A child after fork() must not use its parent's manager.

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/lock.h"
#include "holdfast/lock_error.h"
#include "holdfast/lock_handle.h"
#include "holdfast/lock_result.h"

namespace holdfast {

struct LockManagerOptions {
    // The file that keeps the locks; it has one manager (or server) at a time. Empty: nothing is
    // kept.
    std::string path;
    // Held locks and waits together. A shared lock counts once for each holder.
    std::size_t locks_max = 1'000'000;
    // For one holder, including the locks that it waits for.
    std::size_t locks_per_holder_max = 100'000;
    std::size_t waiters_max = 100'000;
    std::chrono::milliseconds duration_max = std::chrono::hours{24 * 366};
    // How many ended locks are remembered; older ones are LockNotFound.
    std::size_t ended_locks_max = 100'000;
};

class HOLDFAST_API LockManager {
  public:
    // Fails with a LockStoreFailure when the file is in use, is not one of ours, or cannot be
    // written.
    [[nodiscard]] static LockResult<LockManager> open(const LockManagerOptions& options = {});
    LockManager(LockManager&&) noexcept;
    LockManager& operator=(LockManager&&) noexcept;
    ~LockManager();

    // Waits until the lock is granted, or `stop` is requested.
    [[nodiscard]] LockResult<Lock> acquire(const LockRequest& request, std::stop_token stop = {});
    // Does not wait, and does not overtake waiters.
    [[nodiscard]] LockResult<Lock> try_acquire(const LockRequest& request);
    // Waits for `timeout` at most, then fails with LockHeld.
    [[nodiscard]] LockResult<Lock> acquire_for(const LockRequest& request,
                                               std::chrono::milliseconds timeout,
                                               std::stop_token stop = {});

    // The lease lasts for `duration` (or its old duration) from now on.
    [[nodiscard]] LockResult<Lock> renew(LockToken token,
                                         std::optional<std::chrono::milliseconds> duration = {});
    LockResult<void> release(LockToken token);

    [[nodiscard]] LockResult<Lock> get_by_token(LockToken token);

    // Whether the holder of `token` may now do work that needs a lock on `scope`. Returns the lock, or
    // LockExpired, LockNotFound or LockScopeMismatch. A shared lock is not enough to write.
    //
    // The lease may end between this check and the write that follows. Where that matters, pass the
    // fencing token on to the storage, and let it refuse smaller ones than the largest it has seen.
    [[nodiscard]] LockResult<Lock> check(LockToken token, const LockScope& scope,
                                         LockMode mode = LockMode::exclusive);

    // Every lock that is held. Looks at all of them: for people. (A file that a server has written
    // may hold semaphores, too; they are left out.)
    [[nodiscard]] LockResult<std::vector<Lock>> list();

    // Waits for a lock, and renews it until the handle is destroyed.
    [[nodiscard]] LockResult<LockHandle> hold(const LockRequest& request,
                                              HandleOptions options = {},
                                              std::stop_token stop = {});
    // The same for a lock that was acquired otherwise, or found again after a restart.
    [[nodiscard]] LockResult<LockHandle> keep(const Lock& lock, HandleOptions options = {});

    // Calls function(LockHandle&) with the lock held and renewed, and returns what that returns. An
    // error if the lock could not be had, or if it was lost before the function was done: then what
    // it did may have been too late. What the function throws goes through, after the release.
    template <class Function>
    LockResult<std::decay_t<std::invoke_result_t<Function, LockHandle&>>> with_lock(
        const LockRequest& request, Function&& function, HandleOptions options = {},
        std::stop_token stop = {}) {
        auto handle = hold(request, std::move(options), std::move(stop));
        if (!handle) return handle.error();
        if constexpr (std::is_void_v<std::invoke_result_t<Function, LockHandle&>>) {
            std::forward<Function>(function)(*handle);
            return handle->release();
        } else {
            auto value = std::forward<Function>(function)(*handle);
            if (auto released = handle->release(); !released) return released.error();
            return value;
        }
    }

  private:
    friend class embedded::Engine;
    explicit LockManager(std::shared_ptr<embedded::Engine> engine);

    std::shared_ptr<embedded::Engine> engine_;
};

}  // namespace holdfast
