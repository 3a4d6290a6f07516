#include "scenarios/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/text/duration.h"

namespace holdfast::scenarios {

namespace {

constexpr std::string_view space = " \t\r";
constexpr std::size_t command_column = 8;

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

base::Result<Step> parse_step(std::string_view text) {
    const auto arrow = text.find("->");
    Step step;
    if (arrow != std::string_view::npos) step.expected.answer = trim(text.substr(arrow + 2));
    const auto done = trim(text.substr(3, arrow == std::string_view::npos ? arrow : arrow - 3));
    const auto end_of_moment = std::min(done.find_first_of(space), done.size());
    const auto moment = base::parse_duration(done.substr(0, end_of_moment));
    if (!moment || moment->count() < 0) return base::fail("no moment follows `at`");
    step.at = core::Time{std::chrono::duration_cast<core::Duration>(*moment)};
    step.command = trim(done.substr(end_of_moment));
    return step;
}

std::string format_moment(const Step& step) {
    const auto moment = fmt::format("at {}", format_time(step.at));
    return step.command.empty()
               ? moment
               : fmt::format("{:<{}}{}", moment + " ", command_column, step.command);
}

}  // namespace

base::Result<Script> parse_script(std::string_view text) {
    Script script;
    std::size_t number = 0;
    Step* last = nullptr;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = trim(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (line.empty() || line.starts_with('#')) {
            script.push_back({.number = number, .comment = std::string(line), .step = {}});
        } else if (line.starts_with("at ")) {
            auto step = parse_step(line);
            if (!step) return base::fail(fmt::format("line {}: {}", number, step.error().message));
            script.push_back({.number = number, .comment = {}, .step = *std::move(step)});
        } else if ((line.starts_with("=>") || line.starts_with("|")) && last != nullptr) {
            last->expected.effects.emplace_back(line);
            continue;
        } else {
            return base::fail(fmt::format("line {}: not a step: {}", number, line));
        }
        last = script.back().step ? &*script.back().step : nullptr;
    }
    return script;
}

std::string format_script(const Script& script) {
    std::size_t column = 0;
    for (const Line& line : script) {
        if (line.step && !line.step->expected.answer.empty()) {
            column = std::max(column, format_moment(*line.step).size() + 2);
        }
    }
    std::string text;
    for (const Line& line : script) {
        if (!line.step) {
            text += line.comment + '\n';
            continue;
        }
        const auto& [answer, effects] = line.step->expected;
        const auto done = format_moment(*line.step);
        text += answer.empty() ? done : fmt::format("{:<{}}-> {}", done, column, answer);
        text += '\n';
        for (const auto& effect : effects) {
            text += fmt::format("{:{}}{}\n", "", command_column, effect);
        }
    }
    return text;
}

std::string format_time(core::Time time) {
    if (time == core::Time::max()) return "for ever";
    const auto us = time.time_since_epoch().count();
    if (us % 1'000'000 == 0) return fmt::format("{}s", us / 1'000'000);
    return us % 1000 == 0 ? fmt::format("{}ms", us / 1000) : fmt::format("{}us", us);
}

}  // namespace holdfast::scenarios
