#pragma once

// What the program can tell of itself, made from the commands and options that its parser knows:
// the manual page and the completions of shells.

#include <string>
#include <vector>

#include "options/command_tree.h"

namespace holdfast::app {

// The manual page holdfast(1), in the language of man(7): the prose of manual.roff, and between it
// the help of all commands.
[[nodiscard]] std::string manual_page(const std::vector<options::CommandEntry>& commands);

// Scripts that teach a shell to complete `holdfast`: commands, options, and values where they are
// files or there is a list of them.
[[nodiscard]] std::string bash_completion(const std::vector<options::CommandEntry>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<options::CommandEntry>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<options::CommandEntry>& commands);

}  // namespace holdfast::app
