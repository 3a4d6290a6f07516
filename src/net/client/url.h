#pragma once

// The parts of a request target, decoded and encoded. The only file that uses Boost.URL is url.cc.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::net {

// Replaces every %XX by its byte. For paths: a plus sign stays a plus sign. Fails on a % that is
// not followed by two hexadecimal digits. The caller judges the bytes (a NUL, invalid UTF-8).
[[nodiscard]] base::Result<std::string> percent_decode(std::string_view text);

// The same for names and values of a query or form, where a plus sign means a space.
[[nodiscard]] base::Result<std::string> form_decode(std::string_view text);

// base::percent_encode(): the text can stand anywhere in a path or query.
[[nodiscard]] std::string percent_encode(std::string_view text);

// The same for a whole path: slashes, and all that may stand in a path, stay as they are.
[[nodiscard]] std::string percent_encode_path(std::string_view path);

// The same, but letters beyond ASCII stay as they are: for a path that a person reads and a program
// puts into a URL. REQUIRES: the path is UTF-8.
[[nodiscard]] std::string percent_encode_readably(std::string_view path);

// The host of an authority such as `box:8081` or `[::1]:8081`: without the port, with its brackets.
[[nodiscard]] std::string_view host_of(std::string_view authority);

// The decoded value of the first parameter called `name` in `client=a&ttl=5`; empty if it has no
// `=`, nullopt if there is no such parameter. Fails if its value, or a name before it, is
// malformed. For several parameters of one query, find_parameters() is faster.
[[nodiscard]] base::Result<std::optional<std::string>> query_parameter(std::string_view query,
                                                                       std::string_view name);

}  // namespace holdfast::net
