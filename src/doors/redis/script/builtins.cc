// The functions that scripts can call.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "doors/redis/script/formatting.h"
#include "doors/redis/script/run.h"

namespace holdfast::doors::redis {

namespace {

base::Result<double> need_number(const ScriptValue& value) {
    if (const auto number = to_number(value)) return *number;
    return script_error(fmt::format("number expected, got {}", type_name(value)));
}

Evaluated largest_or_smallest(const std::vector<ScriptValue>& arguments, bool is_largest) {
    TRY(double chosen, need_number(arguments[0]));
    for (const ScriptValue& argument : arguments) {
        TRY(const double number, need_number(argument));
        chosen = is_largest ? std::max(chosen, number) : std::min(chosen, number);
    }
    return ScriptValue{chosen};
}

Evaluated first_item(const ScriptValue& value) {
    const ScriptTable* const table = find_table(value);
    if (table == nullptr) return script_error("unpack of something that is no table");
    return table->items.empty() ? ScriptValue{} : table->items[0];
}

}  // namespace

// string.sub(): positions count from one, and from the end if they are negative.
Evaluated ScriptRun::cut_text(const Values& arguments) {
    if (arguments.size() < 2) return script_error("string.sub needs a position");
    TRY(const auto argument, TextArgument::of(arguments[0]));
    const std::string_view text = argument.text();
    TRY(double first, need_number(arguments[1]));
    double last = -1;
    if (arguments.size() > 2) {
        TRY(last, need_number(arguments[2]));
    }
    const auto size = static_cast<double>(text.size());
    if (first < 0) first += size + 1;
    if (last < 0) last += size + 1;
    first = std::max(1.0, std::trunc(first));
    last = std::min(size, std::trunc(last));
    if (!(first <= last)) return make_text("", budget_);
    return make_text(text.substr(static_cast<std::size_t>(first) - 1,
                                 static_cast<std::size_t>(last - first) + 1),
                     budget_);
}

Evaluated ScriptRun::append_item(const Values& arguments) {
    ScriptTable* const table = find_table(arguments[0]);
    if (table == nullptr || arguments.size() != 2) {
        return script_error("only table.insert(list, value) is understood");
    }
    if (find_table(arguments[1]) != nullptr) {
        return script_error("a table cannot be put into another one");
    }
    TRY(budget_.take_bytes(sizeof(ScriptValue)));
    table->items.push_back(arguments[1]);
    return ScriptValue{};
}

Evaluated ScriptRun::call_builtin(const Expression& expression) {
    TRY(auto arguments, evaluate_list(expression.operands));
    if (arguments.empty() && expression.builtin != Builtin::redis_replicate_commands) {
        return script_error("a function was called without an argument");
    }
    switch (expression.builtin) {
        case Builtin::redis_call: return call_command(arguments, false);
        case Builtin::redis_pcall: return call_command(arguments, true);
        case Builtin::redis_replicate_commands: return ScriptValue{true};
        case Builtin::tonumber: {
            const auto number = to_number(arguments[0]);
            return number ? ScriptValue{*number} : ScriptValue{};
        }
        case Builtin::unpack: return first_item(arguments[0]);  // not at the end of a list
        case Builtin::table_insert: return append_item(arguments);
        case Builtin::math_floor:
        case Builtin::math_ceil: {
            TRY(const double number, need_number(arguments[0]));
            const bool is_floor = expression.builtin == Builtin::math_floor;
            return ScriptValue{is_floor ? std::floor(number) : std::ceil(number)};
        }
        case Builtin::math_max: return largest_or_smallest(arguments, true);
        case Builtin::math_min: return largest_or_smallest(arguments, false);
        default: return call_text_function(expression.builtin, arguments);
    }
}

// The functions that take or give a text.
Evaluated ScriptRun::call_text_function(Builtin builtin, const Values& arguments) {
    const ScriptValue& value = arguments[0];
    if (builtin == Builtin::type) return make_text(type_name(value), budget_);
    if (builtin == Builtin::string_sub) return cut_text(arguments);
    if (builtin == Builtin::tostring) {
        if (find_text(value) != nullptr) return value;
        if (const double* const number = std::get_if<double>(&value)) {
            return make_text(to_shown(*number), budget_);
        }
        const bool* const truth = std::get_if<bool>(&value);
        if (truth != nullptr) return make_text(*truth ? "true" : "false", budget_);
        return make_text(type_name(value), budget_);
    }
    TRY(const auto argument, TextArgument::of(value));
    std::string_view text = argument.text();
    switch (builtin) {
        case Builtin::string_format:
            return format_text(text, std::span(arguments).subspan(1), budget_);
        case Builtin::string_len: return ScriptValue{static_cast<double>(text.size())};
        case Builtin::redis_status_reply:
            return make_table(ScriptTable::Kind::status, text, budget_);
        case Builtin::redis_error_reply: {  // as Redis does it: a text without a code gets one
            if (text.starts_with('-')) text.remove_prefix(1);
            TRY(budget_.take_bytes(2 * text.size()));
            const bool has_code = text.find(' ') != std::string_view::npos;
            const std::string coded = (has_code ? "" : "ERR ") + std::string(text);
            return make_table(ScriptTable::Kind::error, coded, budget_);
        }
        default: return script_error(text);  // error()
    }
}

Evaluated ScriptRun::call_command(const Values& arguments, bool is_caught) {
    std::vector<std::string> written;  // numbers as words
    written.reserve(arguments.size());
    std::vector<std::string_view> words;
    words.reserve(arguments.size());
    for (const ScriptValue& argument : arguments) {
        const double* const number = std::get_if<double>(&argument);
        const std::string* const text =
            number == nullptr ? find_text(argument) : &written.emplace_back(to_word(*number));
        if (text == nullptr) {
            return script_error("Lua redis lib command arguments must be strings or integers");
        }
        TRY(budget_.take_bytes(sizeof(std::string) + text->size()));
        words.emplace_back(*text);
    }
    const Reply reply = commands_.call(words);
    if (reply.is_error() && !is_caught) return base::fail(reply.text);
    return to_value(reply, budget_);
}

}  // namespace holdfast::doors::redis
