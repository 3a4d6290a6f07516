#include "service/first_number.h"

#include <algorithm>
#include <chrono>

#include "core/values/ids.h"

namespace holdfast::service {

std::uint64_t first_number() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto now_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    const auto first = static_cast<std::uint64_t>(std::max<std::int64_t>(now_us, 1));
    const bool is_believable = first < core::as_number(core::fence_max) / 2;
    return is_believable ? first : 1;
}

}  // namespace holdfast::service
