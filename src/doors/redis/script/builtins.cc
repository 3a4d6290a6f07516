// The functions that scripts can call.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "doors/redis/script/run.h"

namespace holdfast::doors::redis {

namespace {

// The text of an argument that must be one. Numbers are taken, too, as in Lua.
base::Result<std::string> need_text(const ScriptValue& value) {
    if (auto text = to_word(value)) return std::move(*text);
    return script_error(fmt::format("string expected, got {}", type_name(value)));
}

base::Result<double> need_number(const ScriptValue& value) {
    if (const auto number = to_number(value)) return *number;
    return script_error(fmt::format("number expected, got {}", type_name(value)));
}

// string.sub(): positions count from one, and from the end if they are negative.
Evaluated cut_text(const std::vector<ScriptValue>& arguments) {
    TRY(const std::string text, need_text(arguments[0]));
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
    if (!(first <= last)) return ScriptValue{std::string()};
    return ScriptValue{text.substr(static_cast<std::size_t>(first) - 1,
                                   static_cast<std::size_t>(last - first) + 1)};
}

Evaluated largest_or_smallest(const std::vector<ScriptValue>& arguments, bool is_largest) {
    TRY(double chosen, need_number(arguments[0]));
    for (const ScriptValue& argument : arguments) {
        TRY(const double number, need_number(argument));
        chosen = is_largest ? std::max(chosen, number) : std::min(chosen, number);
    }
    return ScriptValue{chosen};
}

Evaluated append_item(const std::vector<ScriptValue>& arguments) {
    const auto* const table = std::get_if<std::shared_ptr<ScriptTable>>(&arguments[0]);
    if (table == nullptr || arguments.size() != 2) {
        return script_error("only table.insert(list, value) is understood");
    }
    if (std::holds_alternative<std::shared_ptr<ScriptTable>>(arguments[1])) {
        return script_error("a table cannot be put into another one");
    }
    (*table)->items.push_back(arguments[1]);
    return ScriptValue{};
}

ScriptValue to_text_value(const ScriptValue& value) {
    if (const bool* const truth = std::get_if<bool>(&value)) {
        return std::string(*truth ? "true" : "false");
    }
    if (const double* const number = std::get_if<double>(&value)) {
        return fmt::format("{:.14g}", *number);
    }
    if (std::holds_alternative<std::string>(value)) return value;
    return std::string(type_name(value));
}

// As Redis does it: a text without a code gets one.
ScriptValue error_reply_value(std::string text) {
    if (text.starts_with('-')) text.erase(0, 1);
    const bool has_code = text.find(' ') != std::string::npos;
    return error_value(has_code ? std::move(text) : "ERR " + text);
}

}  // namespace

Evaluated ScriptRun::call_builtin(const Expression& expression) {
    TRY(auto arguments, evaluate_list(expression.operands));
    if (arguments.empty() && expression.builtin != Builtin::redis_replicate_commands) {
        return script_error("a function was called without an argument");
    }
    switch (expression.builtin) {
        case Builtin::redis_call: return call_command(arguments, false);
        case Builtin::redis_pcall: return call_command(arguments, true);
        case Builtin::redis_replicate_commands: return ScriptValue{true};
        case Builtin::redis_status_reply: {
            TRY(auto text, need_text(arguments[0]));
            return status_value(std::move(text));
        }
        case Builtin::redis_error_reply: {
            TRY(auto text, need_text(arguments[0]));
            return error_reply_value(std::move(text));
        }
        case Builtin::tonumber: {
            const auto number = to_number(arguments[0]);
            return number ? ScriptValue{*number} : ScriptValue{};
        }
        case Builtin::tostring: return to_text_value(arguments[0]);
        case Builtin::type: return ScriptValue{std::string(type_name(arguments[0]))};
        case Builtin::unpack: {  // not at the end of a list: its first item
            const auto* const table = std::get_if<std::shared_ptr<ScriptTable>>(&arguments[0]);
            if (table == nullptr) return script_error("unpack of something that is no table");
            return (*table)->items.empty() ? ScriptValue{} : (*table)->items[0];
        }
        case Builtin::error: {
            TRY(const auto text, need_text(arguments[0]));
            return script_error(text);
        }
        case Builtin::table_insert: return append_item(arguments);
        case Builtin::string_sub:
            if (arguments.size() < 2) return script_error("string.sub needs a position");
            return cut_text(arguments);
        case Builtin::string_len: {
            TRY(const auto text, need_text(arguments[0]));
            return ScriptValue{static_cast<double>(text.size())};
        }
        case Builtin::math_floor:
        case Builtin::math_ceil: {
            TRY(const double number, need_number(arguments[0]));
            const bool is_floor = expression.builtin == Builtin::math_floor;
            return ScriptValue{is_floor ? std::floor(number) : std::ceil(number)};
        }
        case Builtin::math_max: return largest_or_smallest(arguments, true);
        case Builtin::math_min: return largest_or_smallest(arguments, false);
    }
    return ScriptValue{};
}

Evaluated ScriptRun::call_command(const Values& arguments, bool is_caught) {
    std::vector<std::string> texts;
    for (const ScriptValue& argument : arguments) {
        auto text = to_word(argument);
        if (!text) {
            return script_error("Lua redis lib command arguments must be strings or integers");
        }
        texts.push_back(std::move(*text));
    }
    const std::vector<std::string_view> words(texts.begin(), texts.end());
    const Reply reply = commands_.call(words);
    if (reply.is_error() && !is_caught) return base::fail(reply.text);
    return to_value(reply);
}

}  // namespace holdfast::doors::redis
