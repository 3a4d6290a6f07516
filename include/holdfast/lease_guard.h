#pragma once

// LeaseGuard: a lease that renews itself, and says so when it no longer can.
//
// How to think of it: while a guard is guaranteed, nobody else holds the lock. That is judged by
// this machine's clock (BootClock), counted from *before* the last confirmed request was sent, and
// ends a margin before the lease does: so a program that stood still, whose machine slept, or whose
// server does not answer learns of it before anybody else is let in. Once it has ended it never
// comes back.
//
// One thread watches over all guards of a client, others renew them; no code of the program runs on
// these: `on_lost` and the callbacks of the stop token are called on a thread of their own. What
// they throw is dropped.
//
// REQUIRES, of everything but destroying and assigning: it was not moved from.
// Thread safety: const methods from any thread. Lifetime: the guard keeps the client's insides
// alive. Destroying it (or assigning to it) waits until `on_lost` has returned, unless that is who
// destroys it, and gives the lease back, trying for the client's `timeout` at most.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "holdfast/export.h"
#include "holdfast/lease.h"
#include "holdfast/lock_error.h"
#include "holdfast/lock_result.h"

namespace holdfast {

namespace sdk {
class Session;
struct Hold;
}  // namespace sdk

// That a guard is no longer guaranteed, and why.
struct GuardLost {
    Lease lease;      // as last renewed
    LockError error;  // LockExpired, LockNotFound: it is over. LockNotGuaranteed: it may be.
};

struct HeartbeatOptions {
    // How often it is renewed, and for how long: a third of the ttl, and the ttl, if not given.
    // (LockServer's own client renews every 200 ms, by 500 ms.)
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

    // Whether nobody else can hold the lock at this moment.
    [[nodiscard]] bool is_guaranteed() const;
    // How long it will be so without another renewal; never below zero.
    [[nodiscard]] std::chrono::milliseconds time_left() const;

    // The lease as last renewed.
    [[nodiscard]] Lease lease() const;
    [[nodiscard]] std::uint64_t fencing_token() const;

    // Stops when the guarantee ends.
    [[nodiscard]] std::stop_token stop_token() const;

    // Gives the lease back, and waits until that is certain. An error if the guarantee ended
    // before: then what was done under the lock may have been too late. Waits for `on_lost`, too.
    // Further calls do nothing.
    LockResult<void> release();

  private:
    friend class Client;
    LeaseGuard(std::shared_ptr<sdk::Session> session, std::shared_ptr<sdk::Hold> hold);
    void let_go();

    std::shared_ptr<sdk::Session> session_;
    std::shared_ptr<sdk::Hold> hold_;  // null: moved from
    bool is_released_ = false;
};

}  // namespace holdfast
