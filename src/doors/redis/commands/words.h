#pragma once

// Small readers for the words of a command, and the errors that Redis answers them with.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "doors/redis/resp/reply.h"

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

}  // namespace holdfast::doors::redis
