#pragma once

// LeaseGuard: a lease that renews itself, and tells the program when it no longer can.
//
// While a guard is guaranteed, nobody else holds the lock. The guarantee is measured by this
// machine's clock (BootClock) from *before* the last confirmed request was sent, and ends a margin
// before the lease. So a program that was stopped, whose machine slept, or whose renewals get no
// answer, learns of the end before anybody else is granted the lock. A guarantee that has ended
// never comes back.
//
// One thread watches over all guards of a Client or LockManager. No code of the program runs on it:
// `on_lost` and the callbacks of the stop token have a thread of their own. Their exceptions are
// dropped.
//
// REQUIRES, except for destroying and assigning: the guard was not moved from.
// Thread safety: const methods from any thread. Lifetime: the guard keeps the insides of its Client
// or LockManager alive. Destroying it (or assigning to it) waits until `on_lost` has returned, unless
// `on_lost` itself destroys it, and releases the lease. That takes the `timeout` of a Client at most;
// a LockManager does not wait for the disk.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "holdfast/export.h"
#include "holdfast/lease.h"
#include "holdfast/lock_error.h"
#include "holdfast/lock_result.h"

namespace holdfast {

namespace renewal {
class Hold;
class LeaseSource;
}  // namespace renewal

// Why a guard is no longer guaranteed.
struct GuardLost {
    Lease lease;      // as last renewed
    LockError error;  // LockExpired, LockNotFound: it has ended. LockNotGuaranteed: perhaps.
};

struct HeartbeatOptions {
    // How often the lease is renewed, and for how long. Default: every third of the ttl, for the
    // ttl. (LockServer's own client renews every 200 ms, for 500 ms.)
    std::optional<std::chrono::milliseconds> every;
    std::optional<std::chrono::milliseconds> extend_by;
    // How much earlier than the lease the guarantee ends; Lease::margin(), if not given.
    std::optional<std::chrono::milliseconds> margin;
    // Called once, when the guarantee ends. May block.
    std::function<void(const GuardLost&)> on_lost;
};

class HOLDFAST_API LeaseGuard {
  public:
    LeaseGuard(LeaseGuard&& other) noexcept;
    LeaseGuard& operator=(LeaseGuard&& other) noexcept;
    ~LeaseGuard();

    // True if nobody else can hold the lock at this moment.
    [[nodiscard]] bool is_guaranteed() const;
    // How long the guarantee lasts without another renewal; never below zero.
    [[nodiscard]] std::chrono::milliseconds time_left() const;

    // The lease as last renewed.
    [[nodiscard]] Lease lease() const;
    [[nodiscard]] std::uint64_t fencing_token() const;

    // Stops when the guarantee ends.
    [[nodiscard]] std::stop_token stop_token() const;

    // Releases the lease, and waits until that is certain. An error if the guarantee ended before:
    // then the work under the lock may have been too late. Waits for `on_lost`, too.
    // Further calls do nothing.
    LockResult<void> release();

  private:
    friend class renewal::LeaseSource;
    LeaseGuard(std::shared_ptr<renewal::LeaseSource> source, std::shared_ptr<renewal::Hold> hold);
    void let_go();

    std::shared_ptr<renewal::LeaseSource> source_;
    std::shared_ptr<renewal::Hold> hold_;  // null: moved from
    bool is_released_ = false;
};

// What with_lock() returns: the result of the function.
template <class Function>
using LockedResult = LockResult<std::decay_t<std::invoke_result_t<Function, LeaseGuard&>>>;

// What with_lock() does when hold() has returned.
template <class Function>
LockedResult<Function> call_under(LockResult<LeaseGuard> guard, Function&& function) {
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

}  // namespace holdfast
