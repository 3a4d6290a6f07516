#pragma once

// A script as a tree: the part of Lua that lock scripts are written in.
//
// How to think of it: everything that can be decided before the script runs is decided by the
// parser. A variable is a place in a frame, a function is a number, and a name that is none of these
// and no builtin was refused. So a script cannot reach anything but its keys and arguments.
//
// There are two kinds of frames: one of the script itself, and one for each call of a function. A
// function is declared at the outermost level of the script and is no value: it can only be called.
//
// Why a language of our own: docs/decisions/0030.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::doors::redis {

enum class Builtin : std::uint8_t {
    redis_call,
    redis_pcall,
    redis_status_reply,
    redis_error_reply,
    redis_replicate_commands,
    tonumber,
    tostring,
    type,
    unpack,
    error,
    table_insert,
    string_sub,
    string_len,
    string_format,
    math_floor,
    math_ceil,
    math_max,
    math_min,
};

enum class Operator : std::uint8_t {
    logical_or,
    logical_and,
    equal,
    unequal,
    less,
    less_or_equal,
    greater,
    greater_or_equal,
    add,
    subtract,
    multiply,
    divide,
    modulo,
    join,
    logical_not,
    negate,
    length,
};

// The place of a local variable.
struct Variable {
    bool is_of_script = true;  // in the frame of the script, not in that of the function
    std::uint32_t place = 0;
};

struct Expression {
    enum class Kind : std::uint8_t {
        nil,
        boolean,   // `is_true`
        number,    // `number`
        text,      // `text`
        keys,      // KEYS
        args,      // ARGV
        variable,  // `variable`
        table,     // `operands`: its items
        index,     // operands[0][operands[1]]
        unary,     // `operation`, one operand
        binary,    // `operation`, two operands; a join has two or more
        builtin,   // `builtin`, with `operands`
        function,  // call of `function`, with `operands`
    };

    Kind kind = Kind::nil;
    bool is_true = false;
    Builtin builtin{};
    Operator operation{};
    std::uint16_t height = 1;  // one more than the highest of its operands
    Variable variable;
    std::uint32_t function = 0;
    double number = 0;
    std::shared_ptr<const std::string> text;  // shared with the runs
    std::vector<Expression> operands;
};

struct Statement;
using Block = std::vector<Statement>;

struct Statement {
    enum class Kind : std::uint8_t {
        assign,       // targets = expressions; for a declaration, too
        assign_item,  // expressions[0][expressions[1]] = expressions[2]
        call,         // expressions[0], for its effect
        choice,       // expressions[i] decides on blocks[i]; one block more is the `else`
        each,         // for targets[0], targets[1] in ipairs(expressions[0]) do blocks[0]
        count,        // for targets[0] = expressions[0], [1] (, [2]) do blocks[0]
        group,        // do blocks[0] end
        leave_loop,   // break
        give,         // return expressions[0], or nothing
    };

    Kind kind{};
    std::vector<Variable> targets;
    std::vector<Expression> expressions;
    std::vector<Block> blocks;
};

struct Function {
    std::size_t parameters = 0;  // in the first places of its frame
    std::size_t places = 0;      // as many variables as there are at one time
    Block body;
};

struct Script {
    std::size_t places = 0;
    std::vector<Function> functions;
    Block body;
    std::size_t bytes = 0;  // that the tree takes in memory
};

}  // namespace holdfast::doors::redis
