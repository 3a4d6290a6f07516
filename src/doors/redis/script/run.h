#pragma once

// ScriptRun: one run of a script. evaluator.cc has its statements, expressions.cc its expressions
// and builtins.cc the functions that scripts can call.
//
// Everything that takes time or memory in proportion to something asks the budget first.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/redis/script/descent.h"
#include "doors/redis/script/evaluator.h"
#include "doors/redis/script/value.h"

namespace holdfast::doors::redis {

// Every error ends the run. Its message is that of the error reply, with the code.
using Evaluated = base::Result<ScriptValue>;

class ScriptRun {
  public:
    // All of them outlive the run.
    ScriptRun(const Script& script, const ScriptInput& input, ScriptCommands& commands,
              StepBudget& budget);

    base::Result<ScriptValue> run();

  private:
    using Values = std::vector<ScriptValue>;
    // How a block has ended.
    enum class Flow : std::uint8_t { on, leave_loop, give };

    // evaluator.cc
    base::Result<Flow> run_block(const Block& block);
    base::Result<Flow> run_statement(const Statement& statement);
    base::Result<Flow> run_choice(const Statement& statement);
    base::Result<Flow> run_each(const Statement& statement);
    base::Result<Flow> run_count(const Statement& statement);
    base::Result<void> assign(const Statement& statement);
    base::Result<void> assign_item(const Statement& statement);
    Evaluated call_function(const Function& function, Values arguments);
    [[nodiscard]] ScriptValue& at(const Variable& variable);
    [[nodiscard]] base::Result<void> check_depth() const;

    // expressions.cc
    Evaluated evaluate(const Expression& expression);
    base::Result<Values> evaluate_list(const std::vector<Expression>& expressions);
    base::Result<void> append_items(const Expression& list, Values& values);
    Evaluated make_list(const Expression& expression);
    Evaluated look_up(const Expression& expression);
    Evaluated apply_unary(const Expression& expression);
    Evaluated apply_binary(const Expression& expression);
    Evaluated join_texts(const Expression& expression);
    Evaluated compare(Operator operation, const ScriptValue& left, const ScriptValue& right);

    // builtins.cc
    Evaluated call_builtin(const Expression& expression);
    Evaluated call_text_function(Builtin builtin, const Values& arguments);
    Evaluated cut_text(const Values& arguments);
    Evaluated append_item(const Values& arguments);
    Evaluated call_command(const Values& arguments, bool is_caught);

    const Script& script_;
    ScriptCommands& commands_;
    StepBudget& budget_;
    Descent descent_;
    ScriptValue keys_, args_;
    Values script_frame_;
    Values* function_frame_ = nullptr;
    ScriptValue given_;  // by `return`
    int calls_ = 0;
};

// An error of the script itself.
[[nodiscard]] tl::unexpected<base::Error> script_error(std::string_view what);

// A value that must be a text. Numbers are taken, too, as in Lua: a number is written out. It refers
// to the value.
class TextArgument {
  public:
    [[nodiscard]] static base::Result<TextArgument> of(const ScriptValue& value);
    [[nodiscard]] std::string_view text() const { return text_ == nullptr ? written_ : *text_; }

  private:
    const std::string* text_ = nullptr;
    std::string written_;
};

}  // namespace holdfast::doors::redis
