// The expressions of a script.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "doors/redis/script/run.h"

namespace holdfast::doors::redis {

namespace {

// What the operator makes of two numbers.
double calculate(Operator operation, double left, double right) {
    switch (operation) {
        case Operator::add: return left + right;
        case Operator::subtract: return left - right;
        case Operator::multiply: return left * right;
        case Operator::divide: return left / right;
        default: return left - std::floor(left / right) * right;  // as Lua's %
    }
}

template <class Ordered>
bool is_in_order(Operator operation, const Ordered& left, const Ordered& right) {
    switch (operation) {
        case Operator::less: return left < right;
        case Operator::less_or_equal: return left <= right;
        case Operator::greater: return left > right;
        default: return left >= right;
    }
}

// Comparing two texts takes as long as copying the shorter one.
base::Result<void> charge_comparison(const ScriptValue& left, const ScriptValue& right,
                                     StepBudget& budget) {
    const std::string *left_text = find_text(left), *right_text = find_text(right);
    if (left_text == nullptr || right_text == nullptr) return {};
    return budget.take_bytes(std::min(left_text->size(), right_text->size()));
}

bool is_comparison(Operator operation) {
    return operation == Operator::less || operation == Operator::less_or_equal ||
           operation == Operator::greater || operation == Operator::greater_or_equal;
}

}  // namespace

Evaluated ScriptRun::evaluate(const Expression& expression) {
    const Descent::Level level(descent_);
    TRY(check_depth());
    TRY(budget_.take_step());
    switch (expression.kind) {
        case Expression::Kind::nil: return ScriptValue{};
        case Expression::Kind::boolean: return ScriptValue{expression.is_true};
        case Expression::Kind::number: return ScriptValue{expression.number};
        case Expression::Kind::text: return ScriptValue{expression.text};
        case Expression::Kind::keys: return keys_;
        case Expression::Kind::args: return args_;
        case Expression::Kind::variable: return at(expression.variable);
        case Expression::Kind::table: return make_list(expression);
        case Expression::Kind::index: return look_up(expression);
        case Expression::Kind::unary: return apply_unary(expression);
        case Expression::Kind::binary: return apply_binary(expression);
        case Expression::Kind::builtin: return call_builtin(expression);
        case Expression::Kind::function: break;
    }
    TRY(auto arguments, evaluate_list(expression.operands));
    return call_function(script_.functions[expression.function], std::move(arguments));
}

// The values of a list of expressions. An unpack() at its end gives all its items.
base::Result<ScriptRun::Values> ScriptRun::evaluate_list(
    const std::vector<Expression>& expressions) {
    Values values;
    for (const Expression& expression : expressions) {
        const bool is_unpack =
            expression.kind == Expression::Kind::builtin && expression.builtin == Builtin::unpack;
        if (!is_unpack || &expression != &expressions.back()) {
            TRY(auto value, evaluate(expression));
            values.push_back(std::move(value));
            continue;
        }
        TRY(append_items(expression.operands[0], values));
    }
    return values;
}

// What unpack() of this list gives.
base::Result<void> ScriptRun::append_items(const Expression& list, Values& values) {
    TRY(const ScriptValue value, evaluate(list));
    const ScriptTable* const table = find_table(value);
    if (table == nullptr) return script_error("unpack of something that is no table");
    for (const ScriptValue& item : table->items) {
        TRY(budget_.take_step());
        TRY(budget_.take_bytes(sizeof(ScriptValue)));
        values.push_back(item);
    }
    return {};
}

Evaluated ScriptRun::make_list(const Expression& expression) {
    TRY(auto items, evaluate_list(expression.operands));
    while (!items.empty() && std::holds_alternative<Nil>(items.back())) items.pop_back();
    TRY(budget_.take_bytes(table_cost + items.size() * sizeof(ScriptValue)));
    auto table = std::make_shared<ScriptTable>();
    for (const ScriptValue& item : items) {
        const ScriptTable* const inner = find_table(item);
        if (inner != nullptr) table->height = std::max(table->height, inner->height + 1);
    }
    if (table->height > table_height_max) {
        return script_error(fmt::format("tables are nested more than {} times", table_height_max));
    }
    table->items = std::move(items);
    return ScriptValue{std::move(table)};
}

Evaluated ScriptRun::look_up(const Expression& expression) {
    TRY(const ScriptValue target, evaluate(expression.operands[0]));
    TRY(const ScriptValue key, evaluate(expression.operands[1]));
    const ScriptTable* const table = find_table(target);
    if (table == nullptr) {
        return script_error(fmt::format("attempt to index a {} value", type_name(target)));
    }
    if (const double* const place = std::get_if<double>(&key)) {
        const auto& items = table->items;
        const bool is_there = *place >= 1 && *place <= static_cast<double>(items.size()) &&
                              std::trunc(*place) == *place;
        return is_there ? items[static_cast<std::size_t>(*place) - 1] : ScriptValue{};
    }
    const std::string* const name = find_text(key);
    const bool is_text =
        name != nullptr && ((table->kind == ScriptTable::Kind::status && *name == "ok") ||
                            (table->kind == ScriptTable::Kind::error && *name == "err"));
    return is_text ? ScriptValue{table->text} : ScriptValue{};
}

Evaluated ScriptRun::apply_unary(const Expression& expression) {
    TRY(const ScriptValue value, evaluate(expression.operands[0]));
    if (expression.operation == Operator::logical_not) return ScriptValue{!is_true(value)};
    if (expression.operation == Operator::negate) {
        if (const auto number = to_number(value)) return ScriptValue{-*number};
        return script_error(
            fmt::format("attempt to perform arithmetic on a {} value", type_name(value)));
    }
    if (const std::string* const text = find_text(value)) {
        return ScriptValue{static_cast<double>(text->size())};
    }
    if (const ScriptTable* const table = find_table(value)) {
        return ScriptValue{static_cast<double>(table->items.size())};
    }
    return script_error(fmt::format("attempt to get length of a {} value", type_name(value)));
}

// `a .. b .. c`: all of them are measured before one text is made of them.
Evaluated ScriptRun::join_texts(const Expression& expression) {
    TRY(const auto values, evaluate_list(expression.operands));
    std::vector<TextArgument> parts;
    std::size_t size = 0;
    for (const ScriptValue& value : values) {
        TRY(auto part, TextArgument::of(value));
        size += part.text().size();
        parts.push_back(std::move(part));
    }
    TRY(budget_.take_bytes(text_cost + parts.size() * sizeof(TextArgument) + size));
    std::string joined;
    joined.reserve(size);
    for (const TextArgument& part : parts) joined += part.text();
    return ScriptValue{std::make_shared<const std::string>(std::move(joined))};
}

Evaluated ScriptRun::apply_binary(const Expression& expression) {
    const Operator operation = expression.operation;
    if (operation == Operator::join) return join_texts(expression);
    TRY(ScriptValue left, evaluate(expression.operands[0]));
    if (operation == Operator::logical_and || operation == Operator::logical_or) {
        const bool decides = is_true(left) == (operation == Operator::logical_or);
        return decides ? Evaluated(std::move(left)) : evaluate(expression.operands[1]);
    }
    TRY(const ScriptValue right, evaluate(expression.operands[1]));
    TRY(charge_comparison(left, right, budget_));
    if (operation == Operator::equal) return ScriptValue{are_equal(left, right)};
    if (operation == Operator::unequal) return ScriptValue{!are_equal(left, right)};
    if (is_comparison(operation)) return compare(operation, left, right);
    const auto left_number = to_number(left), right_number = to_number(right);
    if (left_number && right_number) {
        return ScriptValue{calculate(operation, *left_number, *right_number)};
    }
    return script_error(fmt::format("attempt to perform arithmetic on a {} value",
                                    type_name(left_number ? right : left)));
}

// Only two numbers or two texts have an order; a text is not taken for a number.
Evaluated ScriptRun::compare(Operator operation, const ScriptValue& left,
                             const ScriptValue& right) {
    const double *left_number = std::get_if<double>(&left),
                 *right_number = std::get_if<double>(&right);
    if (left_number != nullptr && right_number != nullptr) {
        return ScriptValue{is_in_order(operation, *left_number, *right_number)};
    }
    const std::string *left_text = find_text(left), *right_text = find_text(right);
    if (left_text != nullptr && right_text != nullptr) {
        return ScriptValue{is_in_order(operation, *left_text, *right_text)};
    }
    return script_error(
        fmt::format("attempt to compare {} with {}", type_name(left), type_name(right)));
}

}  // namespace holdfast::doors::redis
