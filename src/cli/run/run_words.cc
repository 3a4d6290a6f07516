#include "cli/run/run_words.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace holdfast::cli {

namespace {

bool is_executable_file(const std::string& path) {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
}

std::string joined(std::vector<std::string>::const_iterator word,
                   std::vector<std::string>::const_iterator end) {
    std::string text;
    for (; word != end; ++word) text += (text.empty() ? "" : " ") + *word;
    return text;
}

}  // namespace

bool is_program(const std::string& word) {
    if (word.find('/') != std::string::npos) return is_executable_file(word);
    const char* const variable = std::getenv("PATH");
    std::string_view folders = variable == nullptr ? "" : variable;
    while (!folders.empty()) {
        const std::size_t colon = folders.find(':');
        const std::string folder(folders.substr(0, colon));
        if (is_executable_file((folder.empty() ? "." : folder) + "/" + word)) return true;
        folders.remove_prefix(colon == std::string_view::npos ? folders.size() : colon + 1);
    }
    return false;
}

// NOLINTBEGIN(bugprone-easily-swappable-parameters): what they are asked of differs
RunWords split_run_words(const std::vector<std::string>& words,
                         const std::function<bool(const std::string& option)>& takes_value,
                         const std::function<bool(const std::string& word)>& is_program) {
    // NOLINTEND(bugprone-easily-swappable-parameters)
    const auto dashes = std::find(words.begin(), words.end(), "--");
    // The first two words before the dashes that are neither an option nor its value.
    auto first = dashes, second = dashes;
    for (auto word = words.begin(); word != dashes && second == dashes; ++word) {
        const bool is_option = word->starts_with('-') && word->size() > 1;
        if (is_option && takes_value(*word) && word + 1 != dashes) ++word;
        if (is_option) continue;
        (first == dashes ? first : second) = word;
    }
    if (dashes == words.end()) return {{words.begin(), second}, {second, words.end()}, ""};
    if (second != dashes && is_program(*second)) {
        return {{words.begin(), second},  // what follows may have options of the command's
                {},
                fmt::format("it is not clear where the command begins. If {} is the command, write "
                            "-- before it: holdfast run {} -- {}. If it is a lock, write named:{}",
                            *second, joined(words.begin(), second), joined(second, words.end()),
                            *second)};
    }
    return {{words.begin(), dashes}, {dashes + 1, words.end()}, ""};
}

}  // namespace holdfast::cli
