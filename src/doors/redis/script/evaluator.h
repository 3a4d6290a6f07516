#pragma once

// Runs a script.
//
// A run always ends: loops go over lists or count to a number that is known when they begin, and the
// number of steps is limited. A script changes nothing but by the commands that it calls.

#include <string>
#include <string_view>
#include <vector>

#include "doors/redis/resp/reply.h"
#include "doors/redis/script/tree.h"

namespace holdfast::doors::redis {

// How many statements and expressions one run may look at, and how deep its functions may call one
// another.
inline constexpr int script_steps_max = 20'000;
inline constexpr int script_calls_max = 16;

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
// error reply; what was done before stays done, as in Redis.
[[nodiscard]] Reply run_script(const Script& script, const ScriptInput& input,
                               ScriptCommands& commands);

}  // namespace holdfast::doors::redis
