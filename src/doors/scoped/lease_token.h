#pragma once

// A lease's token as this door writes it: 32 hexadecimal digits, the first half the fencing
// number, the second random. So tokens sort by age, and whoever was not given one cannot make it
// up.

#include <optional>
#include <string>
#include <string_view>

#include "core/values/ids.h"

namespace holdfast::doors::scoped {

void append_token(std::string& out, const core::Token& token);

// What append_token() wrote; nothing for any other text.
[[nodiscard]] std::optional<core::Token> parse_token(std::string_view text);

}  // namespace holdfast::doors::scoped
