#pragma once

// LeaseCalls: the requests about leases and fences, with their repetitions.
//
// Thread safety: everything from any thread.

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/client.h"
#include "sdk/http/exchange.h"
#include "values/lease_request.h"

namespace holdfast::sdk {

struct Renewal {
    std::chrono::milliseconds ttl;
    std::chrono::milliseconds timeout;
    std::stop_token stop;
};

using values::make_holder;

// The target of requests about a lock: `/v1/locks/x`. A name may be a lock or a semaphore.
[[nodiscard]] std::string lock_target(const LockScope& scope);

class LeaseCalls {
  public:
    // REQUIRES: the exchange outlives this.
    explicit LeaseCalls(Exchange& exchange);

    [[nodiscard]] LockResult<Lease> acquire(LeaseRequest request, std::chrono::milliseconds wait,
                                            const std::stop_token& stop);
    [[nodiscard]] LockResult<Lease> renew(const Lease& lease, std::chrono::milliseconds ttl,
                                          const std::stop_token& stop = {});
    // Asks once. A lease that has ended is a final failure.
    [[nodiscard]] Answered<Lease> renew_once(const Lease& lease, const Renewal& renewal);
    LockResult<Lease> set_value(const Lease& lease, std::string_view value);
    LockResult<void> release(const Lease& lease);
    // Asks once, and ignores the result.
    void release_briefly(const Lease& lease);
    [[nodiscard]] LockResult<Lease> find(std::string_view token);
    [[nodiscard]] LockResult<std::vector<Lease>> list();

    // As Client says.
    [[nodiscard]] LockResult<std::uint64_t> pass_fence(std::string_view resource,
                                                       std::uint64_t fencing_token);
    [[nodiscard]] LockResult<std::optional<std::uint64_t>> get_fence(std::string_view resource);
    LockResult<std::optional<std::uint64_t>> drop_fence(std::string_view resource);
    LockResult<std::uint64_t> force_release(const LockScope& scope);
    [[nodiscard]] LockResult<Lease> check(std::string_view token, const LockScope& scope,
                                          LockMode mode);

  private:
    Answered<Answer> ask(std::string method, std::string target, std::string body = "");
    LockResult<void> release(const Lease& lease, std::chrono::milliseconds retry_for);
    LockResult<std::optional<std::uint64_t>> ask_fence(const char* method,
                                                       std::string_view resource);

    Exchange& exchange_;
    const std::string holder_;  // for requests that name no holder
};

}  // namespace holdfast::sdk
