#pragma once

// What is wrong with a command line, in sentences for people. CLI11's own are for programmers.

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class ParseError;
}  // namespace CLI

namespace holdfast::options {

// Functions for Option::checked_by(): the fault in a value, or nothing.
[[nodiscard]] std::string find_duration_fault(const std::string& text);
[[nodiscard]] std::string find_number_fault(const std::string& text, double least, double most);
[[nodiscard]] std::string find_choice_fault(const std::string& text,
                                            const std::vector<std::string>& words);

// There is no such command; perhaps another one was meant.
[[nodiscard]] std::string explain_unknown(const std::string& word,
                                          const std::vector<std::string>& commands);

// What CLI11 complains about.
[[nodiscard]] std::string explain(const CLI::ParseError& error);

}  // namespace holdfast::options
