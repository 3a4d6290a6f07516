#pragma once

// Scripts that teach a shell to complete `holdfast`: commands, options, and values where there is a
// list of them or they are files.

#include <string>
#include <vector>

#include "options/command_tree.h"

namespace holdfast::app {

[[nodiscard]] std::string bash_completion(const std::vector<options::CommandEntry>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<options::CommandEntry>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<options::CommandEntry>& commands);

}  // namespace holdfast::app
