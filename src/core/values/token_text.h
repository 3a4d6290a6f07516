#pragma once

// A token as text, in the form that most doors and the embedded engine use: 32 lower-case
// hexadecimal digits, first the fencing number, then the secret. So tokens sort by age. A token has
// exactly one text, so texts may be compared.

#include <optional>
#include <string>
#include <string_view>

#include "core/values/ids.h"

namespace holdfast::core {

void append_token(std::string& out, const Token& token);

// The token that append_token() wrote; nothing for any other text.
[[nodiscard]] std::optional<Token> parse_token(std::string_view text);

}  // namespace holdfast::core
