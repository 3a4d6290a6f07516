#pragma once

// What the program can tell of itself, made from the commands and options that its parser knows:
// the manual page.

#include <string>
#include <vector>

#include "options/command_tree.h"

namespace holdfast::app {

// The manual page holdfast(1), in the language of man(7): the prose of manual.roff, and between it
// the help of all commands.
[[nodiscard]] std::string manual_page(const std::vector<options::CommandEntry>& commands);

}  // namespace holdfast::app
