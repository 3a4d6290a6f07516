#pragma once

// An option whose value is a duration such as 30s, 1m30s or 250ms.

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "base/text/duration.h"

namespace holdfast::cli {

// Calls `take` with it. What is below zero, or no duration, is a fault of the command line.
inline CLI::Option* add_duration_option(CLI::App& command, const std::string& flag,
                                        const std::function<void(std::chrono::nanoseconds)>& take,
                                        const std::string& help) {
    const auto parse = [take](const CLI::results_t& texts) {
        const auto duration = base::parse_duration(texts.back());
        if (!duration || *duration < std::chrono::nanoseconds::zero()) return false;
        take(*duration);
        return true;
    };
    return command.add_option(flag, parse, help)->type_name("DURATION");
}

// Puts it into `value`, rounded up, whose content is the default.
template <class Duration>
CLI::Option* add_duration_option(CLI::App& command, const std::string& flag, Duration& value,
                                 const std::string& help) {
    const auto take = [&value](std::chrono::nanoseconds duration) {
        value = std::chrono::ceil<Duration>(duration);
    };
    return add_duration_option(command, flag, std::function(take), help)
        ->default_str(base::format_duration(value));
}

}  // namespace holdfast::cli
