#pragma once

// Reading the secret that a client shows to a server.

#include <string>

#include "base/result.h"

namespace holdfast::base {

// The first line of the file that is not blank, without the blanks around it: the same rule by which
// the server reads the file. Fails if there is no such line.
[[nodiscard]] Result<std::string> read_token_file(const std::string& path);

}  // namespace holdfast::base
