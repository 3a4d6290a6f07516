#pragma once

// Reading the secret that a client shows to a server. Both sides read it by the same rule.

#include <cstddef>
#include <string>

#include "base/result.h"

namespace holdfast::base {

// The first line of the file that is not blank, without the blanks around it. Fails if there is no
// such line, or if it is longer than any token; reads only the beginning of a large file.
[[nodiscard]] Result<std::string> read_token_file(const std::string& path);

// The whole file. Fails if it cannot be read, or is larger than that; the message is the reason alone.
[[nodiscard]] Result<std::string> read_small_file(const std::string& path, std::size_t bytes_max);

}  // namespace holdfast::base
