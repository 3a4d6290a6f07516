#pragma once

// The program's commands and options as plain data, taken from the parser itself: what is written
// about them (the manual, the completions of shells) cannot differ from what there is.

#include <string>
#include <vector>

#include "options/options.h"

namespace holdfast::options {

struct CommandOption {
    std::vector<std::string> names;    // `-h`, `--help`; for a positional its one name
    std::string value;                 // what it takes, e.g. FILE; empty: a flag
    std::vector<std::string> choices;  // the values there are, where they can be told
    std::string help;
    std::string default_value;
    std::string variable;  // of the environment
    bool is_required = false;
    bool takes_many = false;
};

struct CommandEntry {
    std::vector<std::string> words;  // `holdfast`, then the way to the command
    std::string help;
    std::string footer;
    std::vector<CommandOption> options;
    std::vector<CommandOption> positionals;
    std::vector<std::string> children;  // the next words there may be
};

// The program first, then its commands, each followed by its own. What is hidden from the help is
// left out.
[[nodiscard]] std::vector<CommandEntry> list_commands(const Command& program);

}  // namespace holdfast::options
