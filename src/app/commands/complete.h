#pragma once

// What a shell can offer for the last word of a command line.
//
// The scripts of `holdfast completion` know nothing of the commands. At every press of the key they
// ask `holdfast complete -- WORDS`, which looks at the parser's own commands and options, and asks
// the server for the names of locks.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "options/command_tree.h"

namespace holdfast::app {

struct Offer {
    std::string word;
    std::string help;
};

struct Completion {
    // What the shell adds to the offers from its own knowledge.
    enum class Add : std::uint8_t {
        nothing,
        files,
        folders,
        command,  // somebody else's command begins at `command_begin`
    };
    std::vector<Offer> offers;
    Add add = Add::nothing;
    std::size_t command_begin = 0;  // the index of a word
};

// The locks whose scopes begin with a text.
using FindLocks = std::function<std::vector<std::string>(const std::string& beginning)>;

// `words`: those behind the program's name. The last one is completed; it may be empty.
[[nodiscard]] Completion complete(const std::vector<options::CommandEntry>& commands,
                                  const std::vector<std::string>& words,
                                  const FindLocks& find_locks);

// As the scripts read it: `word<tab>help` on each line, then perhaps `:files`, `:folders` or
// `:command 2`.
[[nodiscard]] std::string to_text(const Completion& completion);

// `holdfast complete -- WORDS`. Not a command of the parser, which would read options in the words.
int print_completion(const options::Command& program, std::vector<std::string> words);

}  // namespace holdfast::app
