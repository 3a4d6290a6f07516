#pragma once

// LockHandle: a lock that renews itself, and says so when it no longer can.
//
// How to think of it: while a handle is guaranteed, nobody else holds the lock. The guarantee is
// judged by the monotonic clock of this machine. It is counted from the grant, then from before the
// last confirmed renewal was sent, and ends a margin before the lease does: so a program that stood
// still, or whose renewals get no answer, learns of it before anybody else is let in. Once it has
// ended it never comes back.
//
// All handles of a manager are renewed by one thread, in which no code of the program runs:
// `on_lost` and the callbacks of the stop token are called on a thread of their own. What they
// throw is dropped.
//
// REQUIRES, of everything but destroying and assigning: it was not moved from.
// Thread safety: const methods from any thread. Lifetime: the handle keeps the manager's insides
// alive. Destroying it (or assigning to it) waits until `on_lost` has returned, unless that is who
// destroys it, and releases the lock without waiting for the disk.

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

// That a handle is no longer guaranteed, and why.
struct LeaseLost {
    Lock lock;        // as last renewed
    LockError error;  // LockExpired, LockNotFound: it is over. LockNotGuaranteed: it may be.
};

struct HandleOptions {
    // Called once, when the guarantee ends. May block.
    std::function<void(const LeaseLost&)> on_lost;
    // A third of the duration, if not given.
    std::optional<std::chrono::milliseconds> renew_every;
    // How much earlier than the lease the guarantee ends. Five seconds, or a sixth of the duration
    // if that is less, if not given.
    std::optional<std::chrono::milliseconds> margin;
};

class HOLDFAST_API LockHandle {
  public:
    LockHandle(LockHandle&& other) noexcept;
    LockHandle& operator=(LockHandle&& other) noexcept;
    ~LockHandle();

    // Whether nobody else can hold the lock at this moment.
    [[nodiscard]] bool is_guaranteed() const;
    // How long it will be so without another renewal; never below zero.
    [[nodiscard]] std::chrono::microseconds time_left() const;

    // The lock as last renewed.
    [[nodiscard]] Lock lock() const;
    [[nodiscard]] LockToken token() const;
    [[nodiscard]] std::uint64_t fencing_token() const { return token().fencing_number; }

    // Stops when the guarantee ends.
    [[nodiscard]] std::stop_token stop_token() const;

    // Gives the lock back, and waits until that is certain. An error if the guarantee ended before:
    // then what was done under the lock may have been too late. Waits for `on_lost`, too.
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
