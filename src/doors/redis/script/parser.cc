#include "doors/redis/script/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "doors/redis/script/expression_parser.h"

namespace holdfast::doors::redis {

namespace {

using StatementKind = Statement::Kind;

// What a list takes in memory, with all that is below its items.
template <class Item>
std::size_t size_of(const std::vector<Item>& list);

std::size_t size_below(const Variable& /*variable*/) {
    return 0;
}
std::size_t size_below(const Expression& expression) {
    const std::size_t text = expression.text ? sizeof(std::string) + expression.text->size() : 0;
    return text + size_of(expression.operands);
}
std::size_t size_below(const Statement& statement) {
    return size_of(statement.targets) + size_of(statement.expressions) + size_of(statement.blocks);
}
std::size_t size_below(const Block& block) {
    return size_of(block);
}
std::size_t size_below(const Function& function) {
    return size_of(function.body);
}

template <class Item>
std::size_t size_of(const std::vector<Item>& list) {
    constexpr std::size_t allocation = 16;
    std::size_t size = list.capacity() == 0 ? 0 : allocation + list.capacity() * sizeof(Item);
    for (const Item& item : list) size += size_below(item);
    return size;
}

class ScriptParser {
  public:
    explicit ScriptParser(std::vector<ScriptToken> tokens) : reader_(std::move(tokens)) {}

    base::Result<Script> run() {
        TRY(script_.body, read_block());
        if (reader_.now().kind != ScriptToken::Kind::end) return reader_.complain_of_token();
        script_.places = names_.script_places();
        script_.bytes = sizeof(Script) + size_of(script_.body) + size_of(script_.functions);
        return std::move(script_);
    }

  private:
    [[nodiscard]] bool is_block_over() const {
        constexpr std::array ends{"end", "else", "elseif", "until"};
        return reader_.now().kind == ScriptToken::Kind::end ||
               std::any_of(ends.begin(), ends.end(),
                           [&](const char* word) { return reader_.is(word); });
    }

    base::Result<Block> read_block() {
        const Descent::Level level(expressions_.descent());
        TRY(expressions_.check_depth());
        names_.begin_block();
        ++blocks_;
        Block block;
        while (!is_block_over()) {
            if (reader_.take_if(";")) continue;
            const bool is_last = reader_.is("return") || reader_.is("break");
            TRY(read_statement(block));
            if (!is_last) continue;
            reader_.take_if(";");
            if (!is_block_over()) return reader_.complain("nothing can follow 'return' or 'break'");
        }
        --blocks_;
        names_.end_block();
        return block;
    }

    // Adds the statement at hand to the block. A function is none.
    base::Result<void> read_statement(Block& block) {
        if (reader_.take_if("local")) {
            if (reader_.take_if("function")) return read_function();
            return read_declaration(block.emplace_back());
        }
        if (reader_.take_if("if")) return read_choice(block.emplace_back());
        if (reader_.take_if("for")) return read_loop(block.emplace_back());
        if (reader_.take_if("return")) return read_return(block.emplace_back());
        if (reader_.take_if("do")) {
            Statement& group = block.emplace_back();
            group.kind = StatementKind::group;
            return read_inner(group);
        }
        if (reader_.is("break")) {
            if (loops_ == 0) return reader_.complain("'break' outside of a loop");
            reader_.take();
            block.emplace_back().kind = StatementKind::leave_loop;
            return {};
        }
        return read_call_or_assignment(block.emplace_back());
    }

    base::Result<void> read_function() {
        if (names_.is_in_function() || blocks_ > 1) {
            return reader_.complain("a function within something else is not understood");
        }
        TRY(const auto name, reader_.take_name());
        const std::size_t number = script_.functions.size();
        script_.functions.emplace_back();
        names_.declare_function(name, number);
        names_.begin_block();
        names_.begin_function();
        TRY(reader_.expect("("));
        Function function;
        while (!reader_.is(")")) {
            TRY(const auto parameter, reader_.take_name());
            names_.declare(parameter);
            ++function.parameters;
            if (!reader_.take_if(",")) break;
        }
        TRY(reader_.expect(")"));
        TRY(check_names());
        TRY(function.body, read_block());
        TRY(reader_.expect("end"));
        function.places = names_.end_function();
        names_.end_block();
        script_.functions[number] = std::move(function);
        return {};
    }

    // `local call, pcall = redis.call, redis.pcall`: other names for builtins, which are known to the
    // parser alone. The first builtin is taken.
    base::Result<void> read_aliases(const std::vector<std::string>& names,
                                    const NamedBuiltin& first) {
        std::vector<const NamedBuiltin*> functions{&first};
        while (reader_.take_if(",")) {
            functions.push_back(expressions_.take_uncalled_builtin());
            if (functions.back() == nullptr) break;
        }
        if (functions.size() != names.size() || functions.back() == nullptr) {
            return reader_.complain("'local' with functions needs one for each of its names");
        }
        for (std::size_t index = 0; index < names.size(); ++index) {
            names_.declare_alias(names[index], *functions[index]);
        }
        return {};
    }

    // The variables are known only after their values: `local x = x` means two of them.
    base::Result<void> read_declaration(Statement& statement) {
        statement.kind = StatementKind::assign;
        std::vector<std::string> declared;
        do {
            TRY(auto name, reader_.take_name());
            declared.push_back(std::move(name));
        } while (reader_.take_if(","));
        if (reader_.take_if("=")) {
            if (const NamedBuiltin* const builtin = expressions_.take_uncalled_builtin()) {
                return read_aliases(declared, *builtin);
            }
            TRY(statement.expressions, expressions_.read_list());
        }
        return declare(declared, statement);
    }

    // Makes the names local variables, which are the targets of the statement.
    base::Result<void> declare(const std::vector<std::string>& names, Statement& statement) {
        for (const std::string& name : names) statement.targets.push_back(names_.declare(name));
        return check_names();
    }

    base::Result<void> check_names() {
        if (!names_.are_too_many()) return {};
        return reader_.complain(fmt::format("more than {} local variables", script_variables_max));
    }

    base::Result<void> read_inner(Statement& statement) {
        TRY(auto block, read_block());
        statement.blocks.push_back(std::move(block));
        return reader_.expect("end");
    }

    base::Result<void> read_choice(Statement& statement) {
        statement.kind = StatementKind::choice;
        do {
            TRY(auto condition, expressions_.read());
            TRY(reader_.expect("then"));
            TRY(auto block, read_block());
            statement.expressions.push_back(std::move(condition));
            statement.blocks.push_back(std::move(block));
        } while (reader_.take_if("elseif"));
        if (reader_.take_if("else")) {
            TRY(auto block, read_block());
            statement.blocks.push_back(std::move(block));
        }
        return reader_.expect("end");
    }

    // `for i, key in ipairs(KEYS) do` or `for i = 1, #KEYS do`.
    base::Result<void> read_loop(Statement& statement) {
        std::vector<std::string> declared;
        do {
            TRY(auto name, reader_.take_name());
            declared.push_back(std::move(name));
        } while (reader_.take_if(","));
        if (reader_.take_if("=")) {
            statement.kind = StatementKind::count;
            TRY(statement.expressions, expressions_.read_list());
            const std::size_t numbers = statement.expressions.size();
            if (declared.size() > 1 || numbers < 2 || numbers > 3) {
                return reader_.complain("this form of 'for' is not understood");
            }
        } else {
            statement.kind = StatementKind::each;
            TRY(reader_.expect("in"));
            if (!reader_.is("ipairs")) {
                return reader_.complain("a loop over anything but ipairs(...) is not understood");
            }
            reader_.take();
            TRY(reader_.expect("("));
            TRY(auto table, expressions_.read());
            TRY(reader_.expect(")"));
            statement.expressions.push_back(std::move(table));
            if (declared.size() > 2) return reader_.complain("ipairs gives two values");
            declared.resize(2, "_");
        }
        TRY(reader_.expect("do"));
        names_.begin_block();
        TRY(declare(declared, statement));
        ++loops_;
        TRY(read_inner(statement));
        --loops_;
        names_.end_block();
        return {};
    }

    // Redis gives the client the first value only.
    base::Result<void> read_return(Statement& statement) {
        statement.kind = StatementKind::give;
        if (is_block_over() || reader_.is(";")) return {};
        TRY(statement.expressions, expressions_.read_list());
        return {};
    }

    base::Result<void> read_call_or_assignment(Statement& statement) {
        if (reader_.is("while") || reader_.is("repeat") || reader_.is("function") ||
            reader_.is("goto")) {
            return reader_.complain_of_token();
        }
        if (reader_.now().kind == ScriptToken::Kind::name && reader_.next().is("=") &&
            names_.find(reader_.now().text) == nullptr) {
            return reader_.complain(
                fmt::format("'{}' is not declared: write 'local' before it", reader_.now().text));
        }
        TRY(auto first, expressions_.read_suffixed());
        const bool is_call =
            first.kind == Expression::Kind::builtin || first.kind == Expression::Kind::function;
        if (is_call && !reader_.is("=")) {
            statement.kind = StatementKind::call;
            statement.expressions.push_back(std::move(first));
            return {};
        }
        if (first.kind == Expression::Kind::index) {
            statement.kind = StatementKind::assign_item;
            TRY(reader_.expect("="));
            TRY(auto value, expressions_.read());
            statement.expressions = std::move(first.operands);
            statement.expressions.push_back(std::move(value));
            return {};
        }
        return read_assignment(statement, std::move(first));
    }

    base::Result<void> read_assignment(Statement& statement, Expression first) {
        statement.kind = StatementKind::assign;
        for (Expression target = std::move(first);;) {
            if (target.kind != Expression::Kind::variable) {
                return reader_.complain("a variable or a call was expected here");
            }
            statement.targets.push_back(target.variable);
            if (!reader_.take_if(",")) break;
            TRY(target, expressions_.read_suffixed());
        }
        TRY(reader_.expect("="));
        TRY(statement.expressions, expressions_.read_list());
        return {};
    }

    Script script_;
    TokenReader reader_;
    Names names_;
    ExpressionParser expressions_{reader_, names_};
    int blocks_ = 0;  // that are open
    int loops_ = 0;
};

}  // namespace

base::Result<Script> parse_script(std::string_view text) {
    TRY(auto tokens, cut_script(text));
    return ScriptParser(std::move(tokens)).run();
}

}  // namespace holdfast::doors::redis
