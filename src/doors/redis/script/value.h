#pragma once

// The values of a script while it runs, and what becomes of them at its edges: a reply of a command
// becomes a value, and the value that a script returns becomes a reply. Both as Redis does it.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "doors/redis/resp/reply.h"

namespace holdfast::doors::redis {

struct ScriptTable;

using Nil = std::monostate;
using ScriptValue = std::variant<Nil, bool, double, std::string, std::shared_ptr<ScriptTable>>;

// A list; or a status (`ok`) or an error (`err`), which Lua has as tables with one named item.
struct ScriptTable {
    std::vector<ScriptValue> items;
    std::map<std::string, ScriptValue, std::less<>> fields;
};

// Nil and false are not true; everything else is, also zero.
[[nodiscard]] bool is_true(const ScriptValue& value);

// Two tables are equal only if they are the same.
[[nodiscard]] bool are_equal(const ScriptValue& one, const ScriptValue& other);

// The number that a value is, or that its text spells.
[[nodiscard]] std::optional<double> to_number(const ScriptValue& value);

// The text of a value as an argument of a command: texts and numbers only.
[[nodiscard]] std::optional<std::string> to_word(const ScriptValue& value);

// `nil`, `boolean`, `number`, `string`, `table`.
[[nodiscard]] std::string_view type_name(const ScriptValue& value);

[[nodiscard]] ScriptValue status_value(std::string text);
[[nodiscard]] ScriptValue error_value(std::string text);

[[nodiscard]] ScriptValue to_value(const Reply& reply);
[[nodiscard]] Reply to_reply(const ScriptValue& value);

}  // namespace holdfast::doors::redis
