#pragma once

// The parts of a request target, decoded and encoded.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::net {

// Replaces every %XX by its byte. For paths: a plus sign stays one. Fails on a % without two
// hexadecimal digits; what the bytes mean (a NUL, invalid UTF-8) is for the caller to judge.
[[nodiscard]] base::Result<std::string> percent_decode(std::string_view text);

// The same for names and values of a query or form, where a plus sign means a space.
[[nodiscard]] base::Result<std::string> form_decode(std::string_view text);

// The inverse: every byte that is not a letter, a digit or one of -._~ becomes %XX, so that the
// text can stand anywhere in a path or query.
[[nodiscard]] std::string percent_encode(std::string_view text);

// The decoded value of the first parameter called `name` in `client=a&ttl=5`; empty when it has no
// `=`, nullopt when there is no such parameter. Fails when its value, or a name before it, is
// malformed.
[[nodiscard]] base::Result<std::optional<std::string>> query_parameter(std::string_view query,
                                                                       std::string_view name);

}  // namespace holdfast::net
