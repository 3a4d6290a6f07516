#pragma once

// Session: what is inside a Client, shared with its guards.

#include <algorithm>
#include <memory>
#include <utility>

#include "sdk/heartbeat.h"
#include "sdk/http/exchange.h"
#include "sdk/lease_calls.h"

namespace holdfast::sdk {

class Session {
  public:
    explicit Session(std::unique_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    [[nodiscard]] Exchange& exchange() { return *exchange_; }
    [[nodiscard]] LeaseCalls& calls() { return calls_; }
    [[nodiscard]] Heartbeat& heartbeat() { return heartbeat_; }

  private:
    const std::unique_ptr<Exchange> exchange_;
    LeaseCalls calls_{*exchange_};
    Heartbeat heartbeat_{[this](const Lease& lease, Renewal renewal) {
        renewal.timeout = std::min(renewal.timeout, exchange_->options().timeout);
        return calls_.renew_once(lease, renewal);
    }};
};

}  // namespace holdfast::sdk
