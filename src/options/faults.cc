#include "options/faults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <string_view>

#include "base/text/duration.h"

namespace holdfast::options {

namespace {

bool is_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// How many letters must be added, removed or replaced to make `b` of `a`.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
        }
    }
    return row.back();
}

// The text behind `start`, if the message begins so.
std::optional<std::string> after(std::string_view message, std::string_view start) {
    if (!message.starts_with(start)) return std::nullopt;
    return std::string(message.substr(start.size()));
}

}  // namespace

std::string find_duration_fault(const std::string& text) {
    const auto duration = base::parse_duration(text);
    if (duration && *duration >= std::chrono::nanoseconds::zero()) return "";
    if (is_digits(text)) return fmt::format("{} has no unit; did you mean {}s?", text, text);
    if (text.ends_with('d') && is_digits(std::string_view(text).substr(0, text.size() - 1))) {
        return fmt::format("{}: a day is written 24h", text);
    }
    return fmt::format("{} is not a duration; write 250ms, 30s, 5m or 1h30m", text);
}

std::string find_number_fault(const std::string& text, double least, double most) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return fmt::format("{} is not a number", text);
    }
    if (number >= least && number <= most) return "";
    if (number < least) return fmt::format("{} is too small; it must be at least {}", text, least);
    return fmt::format("{} is too large; it must be at most {}", text, most);
}

std::string find_choice_fault(const std::string& text, const std::vector<std::string>& words) {
    if (std::ranges::find(words, text) != words.end()) return "";
    return fmt::format("{} is none of {}", text, fmt::join(words, ", "));
}

std::string explain_unknown(const std::string& word, const std::vector<std::string>& commands) {
    const auto nearest = std::ranges::min_element(
        commands, {}, [&](const std::string& one) { return distance(word, one); });
    std::string text = fmt::format("there is no command {}", word);
    if (nearest != commands.end() && distance(word, *nearest) <= 2) {
        text += fmt::format("; did you mean {}?", *nearest);
    }
    return text;
}

std::string explain(const CLI::ParseError& error) {
    std::string message = error.what();
    if (const auto words = after(message, "The following argument was not expected: ")) {
        return fmt::format("{} is not expected here", *words);
    }
    if (const auto words = after(message, "The following arguments were not expected: ")) {
        return fmt::format("these words are not expected here: {}", *words);
    }
    if (const auto what = after(message, "Could not convert: ")) {
        return fmt::format("{} is not a valid value", *what);
    }
    if (message == "A subcommand is required") return "a command is missing";
    if (message.ends_with(" is required")) {
        return fmt::format("{} is missing", message.substr(0, message.size() - 12));
    }
    if (const auto at = message.find(" excludes "); at != std::string::npos) {
        return fmt::format("{} and {} cannot be used together", message.substr(0, at),
                           message.substr(at + 10));
    }
    return message;
}

}  // namespace holdfast::options
