#include "sdk/patience.h"

#include <algorithm>

namespace holdfast::sdk {

namespace {

constexpr std::chrono::milliseconds delay_min{50};
constexpr std::chrono::milliseconds delay_max{1'000};
constexpr double jitter = 0.2;

}  // namespace

bool Patience::pause(const std::stop_token& stop) {
    const auto now = Clock::now();
    if (!until_) until_ = now + retry_for_;
    const auto delay = std::chrono::duration_cast<std::chrono::nanoseconds>(
        delay_ * (1 + jitter * renewal::random_share(random_)));
    if (now + delay >= *until_) return false;
    delay_ = std::clamp(2 * delay_, delay_min, delay_max);
    return sleep_for(delay, stop);
}

void Patience::reset() {
    until_.reset();
    delay_ = std::chrono::milliseconds{0};
}

}  // namespace holdfast::sdk
