#pragma once

// Patience: paces the repetitions of a request: the first at once, then ever slower; it comes to an
// end after a while of nothing but failures.
//
// Thread safety: none.

#include <chrono>
#include <optional>
#include <stop_token>

#include "base/random.h"

namespace holdfast::sdk {

// A number from -1 to 1.
[[nodiscard]] double random_share(base::RandomBits& random);

// Sleeps; wakes when told to stop. Whether it was not.
bool sleep_for(std::chrono::nanoseconds time, const std::stop_token& stop);

class Patience {
  public:
    explicit Patience(std::chrono::milliseconds retry_for) : retry_for_(retry_for) {}

    // Sleeps until the next attempt should be made. False if there should be none.
    [[nodiscard]] bool pause(const std::stop_token& stop);

    // There was an answer.
    void reset();
    // There was one, but it may come to nothing: the time begins anew, the pace stays.
    void extend() { until_.reset(); }

  private:
    using Clock = std::chrono::steady_clock;

    const std::chrono::milliseconds retry_for_;
    std::optional<Clock::time_point> until_;
    std::chrono::milliseconds delay_{0};
    base::RandomBits random_;
};

}  // namespace holdfast::sdk
