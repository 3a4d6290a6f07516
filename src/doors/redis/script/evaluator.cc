#include "doors/redis/script/evaluator.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "doors/redis/script/run.h"

namespace holdfast::doors::redis {

namespace {

// The words of the client's command are not charged: their size has a limit of its own.
ScriptValue list_of(const std::vector<std::string_view>& words) {
    auto table = std::make_shared<ScriptTable>();
    table->items.reserve(words.size());
    for (const std::string_view word : words) {
        table->items.emplace_back(std::make_shared<const std::string>(word));
    }
    return table;
}

}  // namespace

tl::unexpected<base::Error> script_error(std::string_view what) {
    return base::fail(fmt::format("ERR Error running script: {}", what));
}

base::Result<TextArgument> TextArgument::of(const ScriptValue& value) {
    TextArgument argument;
    argument.text_ = find_text(value);
    if (argument.text_ != nullptr) return argument;
    const double* const number = std::get_if<double>(&value);
    if (number != nullptr) {
        argument.written_ = to_shown(*number);
        return argument;
    }
    return script_error(fmt::format("string expected, got {}", type_name(value)));
}

ScriptRun::ScriptRun(const Script& script, const ScriptInput& input, ScriptCommands& commands,
                     StepBudget& budget)
    : script_(script),
      commands_(commands),
      budget_(budget),
      descent_(script_levels_max),
      keys_(list_of(input.keys)),
      args_(list_of(input.args)),
      script_frame_(script.places) {}

base::Result<ScriptValue> ScriptRun::run() {
    TRY(const Flow flow, run_block(script_.body));
    return flow == Flow::give ? given_ : ScriptValue{};
}

base::Result<void> ScriptRun::check_depth() const {
    if (!descent_.is_too_deep()) return {};
    return script_error("its blocks, expressions and calls are nested too deep");
}

ScriptValue& ScriptRun::at(const Variable& variable) {
    return (variable.is_of_script ? script_frame_ : *function_frame_)[variable.place];
}

base::Result<ScriptRun::Flow> ScriptRun::run_block(const Block& block) {
    const Descent::Level level(descent_);
    TRY(check_depth());
    for (const Statement& statement : block) {
        TRY(budget_.take_step());
        TRY(const Flow flow, run_statement(statement));
        if (flow != Flow::on) return flow;
    }
    return Flow::on;
}

base::Result<ScriptRun::Flow> ScriptRun::run_statement(const Statement& statement) {
    switch (statement.kind) {
        case Statement::Kind::assign: TRY(assign(statement)); return Flow::on;
        case Statement::Kind::assign_item: TRY(assign_item(statement)); return Flow::on;
        case Statement::Kind::call: TRY(evaluate(statement.expressions[0])); return Flow::on;
        case Statement::Kind::choice: return run_choice(statement);
        case Statement::Kind::each: return run_each(statement);
        case Statement::Kind::count: return run_count(statement);
        case Statement::Kind::group: return run_block(statement.blocks[0]);
        case Statement::Kind::leave_loop: return Flow::leave_loop;
        case Statement::Kind::give: break;
    }
    given_ = {};
    if (!statement.expressions.empty()) {
        TRY(auto values, evaluate_list(statement.expressions));
        if (!values.empty()) given_ = std::move(values[0]);
    }
    return Flow::give;
}

base::Result<ScriptRun::Flow> ScriptRun::run_choice(const Statement& statement) {
    for (std::size_t index = 0; index < statement.expressions.size(); ++index) {
        TRY(const ScriptValue condition, evaluate(statement.expressions[index]));
        if (is_true(condition)) return run_block(statement.blocks[index]);
    }
    const bool has_else = statement.blocks.size() > statement.expressions.size();
    return has_else ? run_block(statement.blocks.back()) : Flow::on;
}

base::Result<ScriptRun::Flow> ScriptRun::run_each(const Statement& statement) {
    TRY(const ScriptValue list, evaluate(statement.expressions[0]));
    const ScriptTable* const table = find_table(list);
    if (table == nullptr) return script_error("ipairs of something that is no table");
    for (std::size_t index = 0; index < table->items.size(); ++index) {
        ScriptValue item = table->items[index];
        if (std::holds_alternative<Nil>(item)) break;
        at(statement.targets[0]) = static_cast<double>(index + 1);
        at(statement.targets[1]) = std::move(item);
        TRY(budget_.take_step());
        TRY(const Flow flow, run_block(statement.blocks[0]));
        if (flow == Flow::leave_loop) break;
        if (flow == Flow::give) return flow;
    }
    return Flow::on;
}

base::Result<ScriptRun::Flow> ScriptRun::run_count(const Statement& statement) {
    double numbers[3] = {0, 0, 1};
    for (std::size_t index = 0; index < statement.expressions.size(); ++index) {
        TRY(const ScriptValue value, evaluate(statement.expressions[index]));
        const auto number = to_number(value);
        if (!number || !std::isfinite(*number)) return script_error("'for' needs numbers");
        numbers[index] = *number;
    }
    const auto [first, last, step] = numbers;
    for (double number = first; step >= 0 ? number <= last : number >= last; number += step) {
        at(statement.targets[0]) = number;
        TRY(budget_.take_step());
        TRY(const Flow flow, run_block(statement.blocks[0]));
        if (flow == Flow::leave_loop) break;
        if (flow == Flow::give) return flow;
    }
    return Flow::on;
}

// Variables that are more than the values become nil.
base::Result<void> ScriptRun::assign(const Statement& statement) {
    TRY(auto values, evaluate_list(statement.expressions));
    for (std::size_t size = values.size(); size < statement.targets.size(); ++size) {
        TRY(budget_.take_step());
        values.emplace_back();
    }
    for (std::size_t index = 0; index < statement.targets.size(); ++index) {
        at(statement.targets[index]) = std::move(values[index]);
    }
    return {};
}

// Only lists can be changed, and a list has no lists in it that were put there later: so no list can
// contain itself.
base::Result<void> ScriptRun::assign_item(const Statement& statement) {
    TRY(const ScriptValue target, evaluate(statement.expressions[0]));
    TRY(const ScriptValue key, evaluate(statement.expressions[1]));
    TRY(ScriptValue value, evaluate(statement.expressions[2]));
    ScriptTable* const table = find_table(target);
    const double* const place = std::get_if<double>(&key);
    if (table == nullptr || place == nullptr) return script_error("only lists can be assigned to");
    auto& items = table->items;
    const bool is_possible = *place >= 1 && *place <= static_cast<double>(items.size() + 1) &&
                             std::trunc(*place) == *place;
    if (!is_possible) return script_error("a list can only be changed within it or at its end");
    if (find_table(value) != nullptr) {
        return script_error("a table cannot be put into another one");
    }
    const auto index = static_cast<std::size_t>(*place) - 1;
    if (index == items.size()) {
        TRY(budget_.take_bytes(sizeof(ScriptValue)));
        items.emplace_back();
    }
    items[index] = std::move(value);
    return {};
}

Evaluated ScriptRun::call_function(const Function& function, Values arguments) {
    if (calls_ >= script_calls_max) return script_error("its functions call one another too deep");
    TRY(budget_.take_bytes(function.places * sizeof(ScriptValue)));
    arguments.resize(function.parameters);
    arguments.resize(function.places);
    Values* const caller = std::exchange(function_frame_, &arguments);
    ++calls_;
    const auto flow = run_block(function.body);
    --calls_;
    function_frame_ = caller;
    if (!flow) return tl::unexpected(flow.error());
    return *flow == Flow::give ? std::exchange(given_, {}) : ScriptValue{};
}

Reply run_script(const Script& script, const ScriptInput& input, ScriptCommands& commands,
                 StepBudget& budget) {
    const auto value = ScriptRun(script, input, commands, budget).run();
    if (!value) return Reply::error(value.error().message);
    auto reply = to_reply(*value, budget);
    return reply ? std::move(*reply) : Reply::error(reply.error().message);
}

}  // namespace holdfast::doors::redis
