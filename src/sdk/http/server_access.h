#pragma once

// How people say where servers are, and what proves that they may talk to them.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::sdk {

// What stands between commas; nothing is empty.
[[nodiscard]] std::vector<std::string> split_by_commas(std::string_view text);

// The secret in the first line of a file, without what editors leave behind it. Fails if there is
// no such line.
[[nodiscard]] base::Result<std::string> read_token(const std::string& path);

}  // namespace holdfast::sdk
