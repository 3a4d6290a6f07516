#pragma once

// The values of a script while it runs, and what becomes of them at its edges: a reply of a command
// becomes a value, and the value that a script returns becomes a reply. Both as Redis does it.
//
// Texts and tables are shared, not copied: giving a value to a variable, to a function or to a list
// costs the same for a long text as for a number. What makes a text or a table takes its bytes from
// the budget of the step first.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "doors/redis/resp/reply.h"
#include "doors/redis/step_budget.h"

namespace holdfast::doors::redis {

struct ScriptTable;

using Nil = std::monostate;
using ScriptText = std::shared_ptr<const std::string>;
using ScriptList = std::shared_ptr<ScriptTable>;
using ScriptValue = std::variant<Nil, bool, double, ScriptText, ScriptList>;

// How deep lists may be in lists.
inline constexpr int table_height_max = 40;

// A list; or a status (`ok`) or an error (`err`), which Lua has as tables with one named item.
//
// A table is put into another one only while that one is made. So no table contains itself, and its
// height never changes.
struct ScriptTable {
    enum class Kind : std::uint8_t { list, status, error };

    std::vector<ScriptValue> items;
    ScriptText text;  // of a status or an error
    Kind kind = Kind::list;
    int height = 1;  // 1: without tables in it
};

// What a text and a table cost besides their bytes and items: their allocations.
inline constexpr std::size_t text_cost = sizeof(std::string) + 32;
inline constexpr std::size_t table_cost = sizeof(ScriptTable) + 32;

// Nil and false are not true; everything else is, also zero.
[[nodiscard]] bool is_true(const ScriptValue& value);

// Two tables are equal only if they are the same.
[[nodiscard]] bool are_equal(const ScriptValue& one, const ScriptValue& other);

// The text of a value; null if it is none. The same for a table.
[[nodiscard]] const std::string* find_text(const ScriptValue& value);
[[nodiscard]] ScriptTable* find_table(const ScriptValue& value);

// The number that a value is, or that its text spells. Texts of more than 200 bytes spell none.
[[nodiscard]] std::optional<double> to_number(const ScriptValue& value);

// A number as an argument of a command.
[[nodiscard]] std::string to_word(double number);
// A number where Lua makes a text of it: with at most 14 digits.
[[nodiscard]] std::string to_shown(double number);

// `nil`, `boolean`, `number`, `string`, `table`.
[[nodiscard]] std::string_view type_name(const ScriptValue& value);

[[nodiscard]] base::Result<ScriptValue> make_text(std::string_view text, StepBudget& budget);
// A status or an error.
[[nodiscard]] base::Result<ScriptValue> make_table(ScriptTable::Kind kind, std::string_view text,
                                                   StepBudget& budget);

[[nodiscard]] base::Result<ScriptValue> to_value(const Reply& reply, StepBudget& budget);
// A table that is in several places of the value is in all these places of the reply, which can be
// much larger than the value. So the reply is measured before anything of it is made.
[[nodiscard]] base::Result<Reply> to_reply(const ScriptValue& value, StepBudget& budget);

// What the reply takes from the budget of a step.
[[nodiscard]] std::size_t cost_of(const Reply& reply);

}  // namespace holdfast::doors::redis
