#include "doors/redis/commands/expiry.h"

#include <chrono>

#include "doors/redis/commands/words.h"

namespace holdfast::doors::redis {

std::optional<ExpiryForm> find_expiry_form(std::string_view word) {
    if (is_word(word, "ex")) return ExpiryForm{.is_seconds = true};
    if (is_word(word, "px")) return ExpiryForm{};
    if (is_word(word, "exat")) return ExpiryForm{.is_seconds = true, .is_absolute = true};
    if (is_word(word, "pxat")) return ExpiryForm{.is_absolute = true};
    return std::nullopt;
}

std::optional<core::Duration> time_until(ExpiryForm form, std::int64_t number, core::Time now,
                                         const service::Clock& clock) {
    // Far more than any lease, and far from where sums would overflow.
    constexpr std::int64_t largest_ms = std::int64_t{1} << 50;
    constexpr std::int64_t ms_per_second = 1000;
    const std::int64_t largest = form.is_seconds ? largest_ms / ms_per_second : largest_ms;
    if (number > largest || number < -largest) return std::nullopt;
    const std::chrono::milliseconds given{form.is_seconds ? number * ms_per_second : number};
    if (!form.is_absolute) return given;
    return given - clock.wall(now).time_since_epoch();
}

}  // namespace holdfast::doors::redis
