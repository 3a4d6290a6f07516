#pragma once

// Acquisition: one attempt to get a lease, from the first request to the grant or the refusal.
//
// All its requests have the same id, so that the server does them once. While an answer is missing,
// nobody knows whether we hold the lease. Stopping then takes one more request, and a release if the
// lease was granted.
//
// Thread safety: none; used once.

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "holdfast/lease.h"
#include "holdfast/lock_result.h"
#include "sdk/http/exchange.h"
#include "sdk/patience.h"

namespace holdfast::sdk {

class LeaseCalls;

class Acquisition {
  public:
    // REQUIRES: the arguments outlive this; find_fault() finds nothing; the request has a holder.
    Acquisition(Exchange& exchange, LeaseCalls& calls, const LeaseRequest& request,
                std::stop_token stop);

    [[nodiscard]] LockResult<Lease> run(std::chrono::milliseconds wait);

  private:
    void begin_anew();
    [[nodiscard]] Ask ask(std::chrono::milliseconds wait) const;
    [[nodiscard]] std::chrono::milliseconds wait_left() const;
    std::optional<LockResult<Lease>> judge(const Answer& answer);
    std::optional<LockResult<Lease>> accept(const Answer& answer);
    LockError cancel();
    void abandon();

    Exchange& exchange_;
    LeaseCalls& calls_;
    const LeaseRequest& request_;
    const std::stop_token stop_;
    const bool has_own_id_;
    std::string request_id_;
    BootClock::time_point sent_at_;  // the first request with this id
    BootClock::time_point deadline_;
    bool is_endless_ = false;                  // there is no deadline
    std::chrono::milliseconds asked_wait_{0};  // of the last request
    Patience patience_;
    bool may_hold_ = false;  // perhaps we have the lease, or a place in the queue
};

}  // namespace holdfast::sdk
