#include "sdk/patience.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace holdfast::sdk {

namespace {

constexpr std::chrono::milliseconds delay_min{50};
constexpr std::chrono::milliseconds delay_max{1'000};
constexpr double jitter = 0.2;

}  // namespace

double random_share(base::RandomBits& random) {
    return static_cast<double>(random()) / static_cast<double>(UINT64_MAX) * 2 - 1;
}

bool sleep_for(std::chrono::nanoseconds time, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock guard(mutex);
    never.wait_for(guard, stop, time, [] { return false; });
    return !stop.stop_requested();
}

bool Patience::pause(const std::stop_token& stop) {
    const auto now = Clock::now();
    if (!until_) until_ = now + retry_for_;
    const auto delay = std::chrono::duration_cast<std::chrono::nanoseconds>(
        delay_ * (1 + jitter * random_share(random_)));
    if (now + delay >= *until_) return false;
    delay_ = std::clamp(2 * delay_, delay_min, delay_max);
    return sleep_for(delay, stop);
}

void Patience::reset() {
    until_.reset();
    delay_ = std::chrono::milliseconds{0};
}

}  // namespace holdfast::sdk
