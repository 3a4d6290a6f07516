#include "doors/redis/script/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::doors::redis {

namespace {

using ExpressionKind = Expression::Kind;

// The operators with two operands. One with a larger priority is done first.
struct BinaryOperator {
    std::string_view sign;
    Operator operation;
    int priority;
};

constexpr BinaryOperator binary_operators[] = {
    {"or", Operator::logical_or, 1},    {"and", Operator::logical_and, 2},
    {"<", Operator::less, 3},           {">", Operator::greater, 3},
    {"<=", Operator::less_or_equal, 3}, {">=", Operator::greater_or_equal, 3},
    {"==", Operator::equal, 3},         {"~=", Operator::unequal, 3},
    {"..", Operator::join, 4},          {"+", Operator::add, 5},
    {"-", Operator::subtract, 5},       {"*", Operator::multiply, 6},
    {"/", Operator::divide, 6},         {"%", Operator::modulo, 6},
};

constexpr NamedBuiltin builtins[] = {
    {"redis.call", Builtin::redis_call, 1},
    {"redis.pcall", Builtin::redis_pcall, 1},
    {"redis.status_reply", Builtin::redis_status_reply, 1},
    {"redis.error_reply", Builtin::redis_error_reply, 1},
    {"redis.replicate_commands", Builtin::redis_replicate_commands, 0},
    {"tonumber", Builtin::tonumber, 1},
    {"tostring", Builtin::tostring, 1},
    {"type", Builtin::type, 1},
    {"unpack", Builtin::unpack, 1},
    {"table.unpack", Builtin::unpack, 1},
    {"error", Builtin::error, 1},
    {"table.insert", Builtin::table_insert, 2},
    {"string.sub", Builtin::string_sub, 2},
    {"string.len", Builtin::string_len, 1},
    {"string.format", Builtin::string_format, 1},
    {"math.floor", Builtin::math_floor, 1},
    {"math.ceil", Builtin::math_ceil, 1},
    {"math.max", Builtin::math_max, 1},
    {"math.min", Builtin::math_min, 1},
};

const NamedBuiltin* find_builtin(std::string_view name) {
    const auto* const found = std::find_if(std::begin(builtins), std::end(builtins),
                                           [&](const auto& one) { return one.name == name; });
    return found == std::end(builtins) ? nullptr : found;
}

std::shared_ptr<const std::string> share(std::string text) {
    return std::make_shared<const std::string>(std::move(text));
}

}  // namespace

base::Result<void> TokenReader::expect(std::string_view word) {
    if (take_if(word)) return {};
    return complain(fmt::format("'{}' was expected here", word));
}

base::Result<std::string> TokenReader::take_name() {
    if (now().kind != ScriptToken::Kind::name) return complain("a name was expected here");
    return take().text;
}

tl::unexpected<base::Error> TokenReader::complain(std::string_view what) const {
    return base::fail(fmt::format("line {}: {}", now().line, what));
}

tl::unexpected<base::Error> TokenReader::complain_of_token() const {
    if (now().kind == ScriptToken::Kind::end) return complain("the script ends too early");
    return complain(fmt::format("'{}' is not understood", now().text));
}

base::Result<void> ExpressionParser::check_depth() const {
    if (!descent_.is_too_deep()) return {};
    return reader_.complain(fmt::format("nested more than {} times", script_depth_max));
}

// The expression with the height that follows from its operands.
base::Result<Expression> ExpressionParser::give_height(Expression parent) {
    for (const Expression& operand : parent.operands) {
        const auto height = static_cast<std::uint16_t>(operand.height + 1);
        parent.height = std::max(parent.height, height);
    }
    if (parent.height <= script_height_max) return parent;
    return reader_.complain(
        fmt::format("an expression has more than {} levels", script_height_max));
}

base::Result<Expression> ExpressionParser::join(Expression parent, Expression left,
                                                Expression right) {
    parent.operands.reserve(2);
    parent.operands.push_back(std::move(left));
    parent.operands.push_back(std::move(right));
    return give_height(std::move(parent));
}

base::Result<Expression> ExpressionParser::read() {
    const Descent::Level level(descent_);
    TRY(check_depth());
    return read_binary(1);
}

base::Result<std::vector<Expression>> ExpressionParser::read_list() {
    std::vector<Expression> list;
    do {
        TRY(auto expression, read());
        list.push_back(std::move(expression));
    } while (reader_.take_if(","));
    return list;
}

// All these operators are done from the left to the right. For a join that makes no difference: one
// node has all its texts, so a long chain is neither high nor copied again and again.
base::Result<Expression> ExpressionParser::read_binary(int priority_min) {
    TRY(auto left, read_unary());
    while (true) {
        const auto* const found =
            std::find_if(std::begin(binary_operators), std::end(binary_operators),
                         [&](const BinaryOperator& one) { return reader_.is(one.sign); });
        if (found == std::end(binary_operators) || found->priority < priority_min) return left;
        reader_.take();
        TRY(auto right, read_binary(found->priority + 1));
        const bool is_join = found->operation == Operator::join;
        if (is_join && left.kind == ExpressionKind::binary && left.operation == Operator::join) {
            left.operands.push_back(std::move(right));
            TRY(left, give_height(std::move(left)));
            continue;
        }
        TRY(left, join({.kind = ExpressionKind::binary, .operation = found->operation},
                       std::move(left), std::move(right)));
    }
}

base::Result<Expression> ExpressionParser::read_unary() {
    const Descent::Level level(descent_);
    TRY(check_depth());
    for (const auto& [sign, operation] : {std::pair{"not", Operator::logical_not},
                                          {"-", Operator::negate},
                                          {"#", Operator::length}}) {
        if (!reader_.take_if(sign)) continue;
        TRY(auto operand, read_unary());
        Expression made{.kind = ExpressionKind::unary, .operation = operation};
        made.operands.push_back(std::move(operand));
        return give_height(std::move(made));
    }
    return read_simple();
}

base::Result<Expression> ExpressionParser::read_simple() {
    const ScriptToken& token = reader_.now();
    if (token.kind == ScriptToken::Kind::number) {
        return Expression{.kind = ExpressionKind::number, .number = reader_.take().number};
    }
    if (token.kind == ScriptToken::Kind::text) {
        return Expression{.kind = ExpressionKind::text, .text = share(reader_.take().text)};
    }
    if (reader_.take_if("nil")) return Expression{};
    if (reader_.take_if("true"))
        return Expression{.kind = ExpressionKind::boolean, .is_true = true};
    if (reader_.take_if("false")) return Expression{.kind = ExpressionKind::boolean};
    if (reader_.take_if("{")) return read_table();
    return read_suffixed();
}

base::Result<Expression> ExpressionParser::read_table() {
    Expression table{.kind = ExpressionKind::table};
    while (!reader_.is("}")) {
        if (reader_.is("[") || reader_.next().is("=")) {
            return reader_.complain("a table with named items is not understood");
        }
        TRY(auto item, read());
        table.operands.push_back(std::move(item));
        if (!reader_.take_if(",") && !reader_.take_if(";")) break;
    }
    TRY(reader_.expect("}"));
    return give_height(std::move(table));
}

base::Result<Expression> ExpressionParser::read_suffixed() {
    Expression read;
    if (reader_.take_if("(")) {
        TRY(read, this->read());
        TRY(reader_.expect(")"));
    } else {
        TRY(read, read_named());
    }
    while (true) {
        if (reader_.take_if("[")) {
            TRY(auto key, this->read());
            TRY(reader_.expect("]"));
            TRY(read, join({.kind = ExpressionKind::index}, std::move(read), std::move(key)));
        } else if (reader_.take_if(".")) {
            TRY(auto name, reader_.take_name());
            TRY(read, join({.kind = ExpressionKind::index}, std::move(read),
                           {.kind = ExpressionKind::text, .text = share(std::move(name))}));
        } else {
            return read;
        }
    }
}

base::Result<Expression> ExpressionParser::read_named() {
    if (reader_.now().kind != ScriptToken::Kind::name) return reader_.complain_of_token();
    const Names::Known* const known = names_.find(reader_.now().text);
    if (known == nullptr) {
        if (reader_.take_if("KEYS")) return Expression{.kind = ExpressionKind::keys};
        if (reader_.take_if("ARGV")) return Expression{.kind = ExpressionKind::args};
        std::string name = reader_.now().text;
        if (reader_.next().is(".")) {
            reader_.take();
            reader_.take();
            name += "." + reader_.now().text;
        }
        const NamedBuiltin* const builtin = find_builtin(name);
        if (builtin == nullptr) {
            return reader_.complain(fmt::format("'{}' is not understood", name));
        }
        return read_builtin(*builtin);
    }
    if (known->builtin != nullptr) return read_builtin(*known->builtin);
    if (!known->function) {
        reader_.take();
        return Expression{.kind = ExpressionKind::variable, .variable = known->variable};
    }
    Expression call{.kind = ExpressionKind::function,
                    .function = static_cast<std::uint32_t>(*known->function)};
    reader_.take();
    TRY(call.operands, read_arguments());
    return give_height(std::move(call));
}

// The last word of the name is at hand.
base::Result<Expression> ExpressionParser::read_builtin(const NamedBuiltin& builtin) {
    reader_.take();
    Expression call{.kind = ExpressionKind::builtin, .builtin = builtin.builtin};
    TRY(call.operands, read_arguments());
    if (call.operands.size() < builtin.arguments_min) {
        return reader_.complain(fmt::format("'{}' needs more arguments", builtin.name));
    }
    return give_height(std::move(call));
}

const NamedBuiltin* ExpressionParser::take_uncalled_builtin() {
    if (reader_.now().kind != ScriptToken::Kind::name) return nullptr;
    const Names::Known* const known = names_.find(reader_.now().text);
    const bool has_dot = known == nullptr && reader_.next().is(".");
    const std::size_t words = has_dot ? 3 : 1;
    const ScriptToken& behind = reader_.ahead(words);
    if (behind.is("(") || behind.kind == ScriptToken::Kind::text) return nullptr;
    const std::string dotted = has_dot ? "." + reader_.ahead(2).text : "";
    const NamedBuiltin* const found =
        known != nullptr ? known->builtin : find_builtin(reader_.now().text + dotted);
    if (found == nullptr) return nullptr;
    for (std::size_t word = 0; word < words; ++word) reader_.take();
    return found;
}

base::Result<std::vector<Expression>> ExpressionParser::read_arguments() {
    if (reader_.now().kind == ScriptToken::Kind::text) {  // f "text" is a call, too
        std::vector<Expression> one;
        one.push_back({.kind = ExpressionKind::text, .text = share(reader_.take().text)});
        return one;
    }
    TRY(reader_.expect("("));
    std::vector<Expression> arguments;
    if (!reader_.is(")")) {
        TRY(arguments, read_list());
    }
    TRY(reader_.expect(")"));
    return arguments;
}

}  // namespace holdfast::doors::redis
