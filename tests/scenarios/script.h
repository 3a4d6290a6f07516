#pragma once

// A scenario as text: what is done at which moment, and what is expected to come of it.
//
//     # a comment
//     at 0s   acquire job by laptop1 ttl 30s     -> granted #1 until 30s
//     at 40s  try job by laptop2                 -> granted #2 until 70s
//             => 30s expired job laptop1 #1
//
// `->` is the answer to the line's command. `=>` is something that happened since the line before
// without being asked for by it: leases end, waiters are granted or give up. `|` is a line of a
// picture
// (`show`). A moment without a command only lets time pass. The commands are described in stage.h.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/values/time.h"

namespace holdfast::scenarios {

// What came of a step. Effects keep their `=>` or `|`.
struct Result {
    std::string answer;
    std::vector<std::string> effects;

    bool operator==(const Result&) const = default;
};

// One moment, perhaps with a command.
struct Step {
    core::Time at;
    std::string command;  // as it was written; may be empty
    Result expected;
};

// One line of the file that is not an effect: a step, or a comment that is kept as it is.
struct Line {
    std::size_t number = 0;
    std::string comment;
    std::optional<Step> step;
};

using Script = std::vector<Line>;

// Reads a scenario. The error names the line that is neither comment, step nor effect.
[[nodiscard]] base::Result<Script> parse_script(std::string_view text);

// The scenario as text again, with its answers in one column.
[[nodiscard]] std::string format_script(const Script& script);

// `30s`, `1500ms`: the moment as scenarios write it; `for ever` for the last one there is.
[[nodiscard]] std::string format_time(core::Time time);

}  // namespace holdfast::scenarios
