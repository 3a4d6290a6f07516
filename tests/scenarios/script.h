#pragma once

// A scenario as text: what is done at which moment, and what must happen then.
//
//     # a comment
//     at 0s   acquire job by laptop1 ttl 30s     -> granted #1 until 30s
//     at 40s  try job by laptop2                 -> granted #2 until 70s
//             => 30s expired job laptop1 #1
//
//     ->  the answer to the command of the line
//     =>  something that happened since the line before, and that is not the answer: a lease ends, a
//         waiter is granted or times out
//     |   a line of a picture (`show`)
//
// A moment without a command only lets time pass. The commands are described in stage.h.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/values/ids.h"

namespace holdfast::scenarios {

// The result of a step. Effects begin with their `=>` or `|`.
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

// One line of the file that is not an effect: a step, or a comment.
struct Line {
    std::size_t number = 0;
    std::string comment;
    std::optional<Step> step;
};

using Script = std::vector<Line>;

// Reads a scenario. The error names a line that is neither a comment nor a step nor an effect.
[[nodiscard]] base::Result<Script> parse_script(std::string_view text);

// The scenario as text again, with its answers in one column.
[[nodiscard]] std::string format_script(const Script& script);

// A moment as scenarios write it: `30s`, `1500ms`; `for ever` for Time::max().
[[nodiscard]] std::string format_time(core::Time time);

}  // namespace holdfast::scenarios
