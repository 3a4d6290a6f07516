#pragma once

// Runs a script.
//
// A run always ends: loops go over lists or count to a number that is known when they begin, and the
// budget of the step bounds what a run may do. Its use of the stack is bounded by the depth of
// evaluation. A script changes nothing but by the commands that it calls.

#include <string>
#include <string_view>
#include <vector>

#include "doors/redis/resp/reply.h"
#include "doors/redis/script/tree.h"
#include "doors/redis/step_budget.h"

namespace holdfast::doors::redis {

// How deep the functions of a script may call one another, and how deep its blocks and expressions
// may be in one another while it runs, those of the calling functions included.
inline constexpr int script_calls_max = 16;
inline constexpr int script_levels_max = 128;

// What the script may do to the world: the commands behind redis.call().
class ScriptCommands {
  public:
    virtual Reply call(const std::vector<std::string_view>& words) = 0;

  protected:
    ~ScriptCommands() = default;
};

struct ScriptInput {
    std::vector<std::string_view> keys;
    std::vector<std::string_view> args;
};

// The answer of the script. An error in it, or of a command that it did not catch with pcall, is an
// error reply; what was done before stays done, as in Redis. So it is if the budget is used up.
[[nodiscard]] Reply run_script(const Script& script, const ScriptInput& input,
                               ScriptCommands& commands, StepBudget& budget);

}  // namespace holdfast::doors::redis
