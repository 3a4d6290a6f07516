#pragma once

// string.format() of scripts: a pattern such as 'lock:%s:%05d' and the values for it.
//
// As in Lua 5.1: `%d %i %o %u %x %X %c %e %E %f %g %G %s %%`, with flags, a width and a precision of
// at most two digits each. `%q` is not understood. A text may have zero bytes in it.

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doors/redis/script/value.h"

namespace holdfast::doors::redis {

// Fails if the pattern is not understood, if a value is missing or of another type, or if the budget
// has not so many bytes. The message says why.
[[nodiscard]] base::Result<ScriptValue> format_text(std::string_view pattern,
                                                    std::span<const ScriptValue> values,
                                                    StepBudget& budget);

}  // namespace holdfast::doors::redis
