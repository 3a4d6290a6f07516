#pragma once

// Bytes as they stand in a URL.

#include <string>
#include <string_view>

namespace holdfast::base {

// Replaces every byte that is not a letter, a digit or one of -._~ by %XX, so that the text can stand
// anywhere in a path or query.
[[nodiscard]] std::string percent_encode(std::string_view text);

}  // namespace holdfast::base
