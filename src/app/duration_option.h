#pragma once

// Durations on the command line: 30s, 1m30s, 250ms.

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

#include "base/duration.h"

namespace holdfast::app {

// An option whose value is a duration that is not negative.
template <class Duration>
CLI::Option* add_duration(CLI::App& command, const std::string& flag, Duration& value,
                          const std::string& help) {
    const auto parse = [&value](const CLI::results_t& texts) {
        const auto duration = base::parse_duration(texts.back());
        if (!duration || *duration < std::chrono::nanoseconds::zero()) return false;
        value = std::chrono::ceil<Duration>(*duration);
        return true;
    };
    return command.add_option(flag, parse, help)
        ->type_name("DURATION")
        ->default_str(base::format_duration(value));
}

}  // namespace holdfast::app
