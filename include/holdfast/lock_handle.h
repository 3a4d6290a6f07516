#pragma once

// LockHandle: a lock that renews itself, and tells the program when it no longer can.
//
// While a handle is guaranteed, nobody else holds the lock. The guarantee is measured by the
// monotonic clock of this machine, from the grant, then from before the last confirmed renewal was
// sent, and ends a margin before the lease. So a program that was stopped, or whose renewals get no
// answer, learns of the end before anybody else is granted the lock. A guarantee that has ended
// never comes back.
//
// One thread renews all handles of a manager. No code of the program runs on it: `on_lost` and the
// callbacks of the stop token have a thread of their own. Their exceptions are dropped.
//
// REQUIRES, except for destroying and assigning: the handle was not moved from.
// Thread safety: const methods from any thread. Lifetime: the handle keeps the manager's insides
// alive. Destroying it (or assigning to it) waits until `on_lost` has returned, unless `on_lost`
// itself destroys it, and releases the lock without waiting for the disk.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "holdfast/export.h"
#include "holdfast/lock_error.h"
#include "holdfast/lock_result.h"

namespace holdfast {

namespace embedded {
class Engine;
struct Hold;
}  // namespace embedded

// Why a handle is no longer guaranteed.
struct LeaseLost {
    Lock lock;        // as last renewed
    LockError error;  // LockExpired, LockNotFound: it has ended. LockNotGuaranteed: perhaps.
};

struct HandleOptions {
    // Called once, when the guarantee ends. May block.
    std::function<void(const LeaseLost&)> on_lost;
    // Default: a third of the duration.
    std::optional<std::chrono::milliseconds> renew_every;
    // How much earlier than the lease the guarantee ends. Default: five seconds, or a sixth of the
    // duration if that is less.
    std::optional<std::chrono::milliseconds> margin;
};

class HOLDFAST_API LockHandle {
  public:
    LockHandle(LockHandle&& other) noexcept;
    LockHandle& operator=(LockHandle&& other) noexcept;
    ~LockHandle();

    // True if nobody else can hold the lock at this moment.
    [[nodiscard]] bool is_guaranteed() const;
    // How long the guarantee lasts without another renewal; never below zero.
    [[nodiscard]] std::chrono::microseconds time_left() const;

    // The lock as last renewed.
    [[nodiscard]] Lock lock() const;
    [[nodiscard]] LockToken token() const;
    [[nodiscard]] std::uint64_t fencing_token() const { return token().fencing_number; }

    // Stops when the guarantee ends.
    [[nodiscard]] std::stop_token stop_token() const;

    // Releases the lock, and waits until that is certain. An error if the guarantee ended before:
    // then the work under the lock may have been too late. Waits for `on_lost`, too.
    LockResult<void> release();

  private:
    friend class LockManager;
    LockHandle(std::shared_ptr<embedded::Engine> engine, std::shared_ptr<embedded::Hold> hold);
    void let_go();

    std::shared_ptr<embedded::Engine> engine_;
    std::shared_ptr<embedded::Hold> hold_;  // null: moved from
    bool is_released_ = false;
};

}  // namespace holdfast
