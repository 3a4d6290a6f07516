#pragma once

// `holdfast config`: what `holdfast serve` would be told, and by whom.

#include <string>
#include <vector>

#include "options/options.h"

namespace holdfast::app {

struct OptionInForce {
    std::string name;    // `--http`
    std::string value;   // as one would write it; empty: none
    std::string origin;  // `command line`, the name of a variable or a file, `default`
};

// Of a command with the options of `serve` that has been parsed, in the order of its help.
[[nodiscard]] std::vector<OptionInForce> options_in_force(const options::Command& command);

// A table of them for people, or JSON for programs.
[[nodiscard]] std::string to_table(const std::vector<OptionInForce>& options);
[[nodiscard]] std::string to_json(const std::vector<OptionInForce>& options);

}  // namespace holdfast::app
