#pragma once

// The manual page holdfast(1): prose from manual.roff, and in the midst of it what the commands
// themselves say of their options.

#include <string>
#include <vector>

#include "options/command_tree.h"

namespace holdfast::app {

// In the language of man(7).
[[nodiscard]] std::string manual_page(const std::vector<options::CommandEntry>& commands);

}  // namespace holdfast::app
