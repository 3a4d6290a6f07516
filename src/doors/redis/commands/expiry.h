#pragma once

// Times to live in the words of a command: `PX 1000`, `EXAT 1768473000` and so on.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "core/values/ids.h"
#include "service/ports/clock.h"

namespace holdfast::doors::redis {

// How a number says when a key ends.
struct ExpiryForm {
    bool is_seconds = false;   // not milliseconds
    bool is_absolute = false;  // since 1970, not from now on
};

// `ex`, `px`, `exat`, `pxat`, in any case of letters; no value for any other word.
[[nodiscard]] std::optional<ExpiryForm> find_expiry_form(std::string_view word);

// How long it is until then; below zero if that is over. No value if the number is too large.
[[nodiscard]] std::optional<core::Duration> time_until(ExpiryForm form, std::int64_t number,
                                                       core::Time now, const service::Clock& clock);

}  // namespace holdfast::doors::redis
