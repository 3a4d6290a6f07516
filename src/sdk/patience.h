#pragma once

// Patience: decides when a failed request is repeated: the first time at once, then after longer and
// longer pauses, until nothing but failures happened for a while.
//
// Thread safety: none.

#include <chrono>
#include <optional>
#include <stop_token>

#include "base/crypto.h"
#include "renewal/retry.h"

namespace holdfast::sdk {

using renewal::sleep_for;

class Patience {
  public:
    explicit Patience(std::chrono::milliseconds retry_for) : retry_for_(retry_for) {}

    // Sleeps until the next attempt. False if there must be none.
    [[nodiscard]] bool pause(const std::stop_token& stop);

    // After an answer: time and pauses begin anew.
    void reset();
    // After an answer that may be of no use: the time begins anew, the pauses stay long.
    void extend() { until_.reset(); }

  private:
    using Clock = std::chrono::steady_clock;

    const std::chrono::milliseconds retry_for_;
    std::optional<Clock::time_point> until_;
    std::chrono::milliseconds delay_{0};
    base::RandomBits random_;
};

}  // namespace holdfast::sdk
