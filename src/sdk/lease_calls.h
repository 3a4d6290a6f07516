#pragma once

// LeaseCalls: what can be done with a lease on a server: take it, renew it, give it back.
//
// Thread safety: everything from any thread.

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "holdfast/client.h"
#include "sdk/http/exchange.h"

namespace holdfast::sdk {

struct Renewal {
    std::chrono::milliseconds ttl;
    std::chrono::milliseconds timeout;
    std::stop_token stop;
};

class LeaseCalls {
  public:
    // The exchange outlives it.
    explicit LeaseCalls(Exchange& exchange);

    [[nodiscard]] LockResult<Lease> acquire(LeaseRequest request, std::chrono::milliseconds wait,
                                            const std::stop_token& stop);
    [[nodiscard]] LockResult<Lease> acquire_with_retry(const LeaseRequest& request,
                                                       const RetryOptions& options,
                                                       const std::stop_token& stop);
    [[nodiscard]] LockResult<Lease> renew(const Lease& lease, std::chrono::milliseconds ttl,
                                          const std::stop_token& stop = {});
    // Asks once. A lease that is over is a final failure.
    [[nodiscard]] Answered<Lease> renew_once(const Lease& lease, const Renewal& renewal);
    LockResult<void> release(const Lease& lease);
    // Does not try for longer than the time of one exchange.
    void release_briefly(const Lease& lease);
    [[nodiscard]] LockResult<Lease> find(std::string_view token);

  private:
    LockResult<void> release(const Lease& lease, std::chrono::milliseconds retry_for);

    Exchange& exchange_;
    const std::string owner_;  // of requests that name none
};

}  // namespace holdfast::sdk
