#pragma once

// Where the command begins in the words of `holdfast run`:
//
//     run NAME command --arguments        one lock: at the second word that is no option of ours
//     run NAME -- command --arguments     at the dashes
//     run NAME NAME... -- command         several locks: always at the dashes
//
// `run x npm run build -- --watch` could mean one lock and a command with dashes of its own, or four
// locks. Words with two meanings are refused: what is run must not depend on a guess.

#include <functional>
#include <string>
#include <vector>

#include "options/options.h"

namespace holdfast::cli {

struct RunWords {
    std::vector<std::string> ours;     // the names of locks, and options
    std::vector<std::string> command;  // empty: it is missing
    std::string fault;                 // empty: none
};

// Whether there is a program of this name that could be run.
[[nodiscard]] bool is_program(const std::string& word);

// `words`: those behind `run`. `takes_value` says whether an option of `run` has a value behind it.
[[nodiscard]] RunWords split_run_words(
    const std::vector<std::string>& words,
    const std::function<bool(const std::string& option)>& takes_value,
    const std::function<bool(const std::string& word)>& is_program = cli::is_program);

}  // namespace holdfast::cli
