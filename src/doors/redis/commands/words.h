#pragma once

// Small readers for the words of a command, and the errors that Redis answers them with.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/values/ids.h"
#include "doors/redis/resp/reply.h"
#include "service/ports/clock.h"

namespace holdfast::doors::redis {

using Words = std::span<const std::string_view>;

// Whether the word is `lower`, which is in lower case, in any case of letters.
[[nodiscard]] bool is_word(std::string_view word, std::string_view lower);
[[nodiscard]] std::string to_lower(std::string_view word);

// A whole decimal number, perhaps negative, and nothing else.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view word);

[[nodiscard]] Reply syntax_error();
[[nodiscard]] Reply not_an_integer();
[[nodiscard]] Reply wrong_arguments(std::string_view command);
[[nodiscard]] Reply unknown_command(Words words);

// Times to live in the words of a command: `PX 1000`, `EXAT 1768473000` and so on.

// How a number says when a key ends.
struct ExpiryForm {
    bool is_seconds = false;   // not milliseconds
    bool is_absolute = false;  // since 1970, not from now on
};

// `ex`, `px`, `exat`, `pxat`, in any case of letters; no value for any other word.
[[nodiscard]] std::optional<ExpiryForm> find_expiry_form(std::string_view word);

// How long it is until then; below zero if that is over. No value if Redis cannot count so far.
[[nodiscard]] std::optional<core::Duration> time_until(ExpiryForm form, std::int64_t number,
                                                       core::Time now, const service::Clock& clock);

}  // namespace holdfast::doors::redis
