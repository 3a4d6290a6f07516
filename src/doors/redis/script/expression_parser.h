#pragma once

// Reads the expressions of a script. The names that are known while it reads are in Names.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "doors/redis/script/descent.h"
#include "doors/redis/script/lexer.h"
#include "doors/redis/script/parser.h"
#include "doors/redis/script/tree.h"

namespace holdfast::doors::redis {

// A function that every script can call.
struct NamedBuiltin {
    std::string_view name;
    Builtin builtin;
    std::size_t arguments_min;
};

// The local variables and functions that can be used at one place of the script.
class Names {
  public:
    // A block begins or ends: what it declares is forgotten with it, and the places of its variables
    // are used again.
    void begin_block() { blocks_.push_back({.known = known_.size(), .places = places().now}); }
    void end_block() {
        known_.resize(blocks_.back().known);
        places().now = blocks_.back().places;
        blocks_.pop_back();
    }
    void begin_function() {
        is_in_function_ = true;
        of_function_ = {};
    }
    // Returns how many places the frame of the function has.
    std::size_t end_function() {
        is_in_function_ = false;
        return std::exchange(of_function_, {}).most;
    }

    Variable declare(const std::string& name) {
        Places& places = this->places();
        const Variable variable{.is_of_script = !is_in_function_, .place = places.now++};
        places.most = std::max(places.most, places.now);
        known_.push_back({.name = name, .variable = variable});
        return variable;
    }
    // Whether there are more variables at this place than a script may have.
    [[nodiscard]] bool are_too_many() const {
        return std::max(of_script_.now, of_function_.now) > script_variables_max;
    }
    void declare_function(const std::string& name, std::size_t number) {
        known_.push_back({.name = name, .function = number});
    }
    // Another name for a builtin, which outlives this.
    void declare_alias(const std::string& name, const NamedBuiltin& builtin) {
        known_.push_back({.name = name, .builtin = &builtin});
    }

    struct Known {
        std::string name;
        Variable variable;
        std::optional<std::size_t> function;    // set if it is one
        const NamedBuiltin* builtin = nullptr;  // set if it is another name for it
    };
    // What the name stands for: the innermost declaration; null if there is none.
    [[nodiscard]] const Known* find(std::string_view name) const {
        for (auto known = known_.rbegin(); known != known_.rend(); ++known) {
            if (known->name == name) return &*known;
        }
        return nullptr;
    }
    [[nodiscard]] bool is_in_function() const { return is_in_function_; }
    [[nodiscard]] std::size_t script_places() const { return of_script_.most; }

  private:
    // Of a frame: how many places are in use at this place of the script, and at most.
    struct Places {
        std::uint32_t now = 0;
        std::uint32_t most = 0;
    };
    // What there was when a block began.
    struct Block {
        std::size_t known;
        std::uint32_t places;
    };

    [[nodiscard]] Places& places() { return is_in_function_ ? of_function_ : of_script_; }

    std::vector<Known> known_;
    std::vector<Block> blocks_;
    bool is_in_function_ = false;
    Places of_script_, of_function_;
};

// The tokens of a script, read from the first to the last. Both parsers share one.
class TokenReader {
  public:
    explicit TokenReader(std::vector<ScriptToken> tokens) : tokens_(std::move(tokens)) {}

    [[nodiscard]] const ScriptToken& now() const { return tokens_[at_]; }
    [[nodiscard]] const ScriptToken& next() const { return ahead(1); }
    // So many tokens behind the one at hand; the last one if there are fewer.
    [[nodiscard]] const ScriptToken& ahead(std::size_t count) const {
        return tokens_[std::min(at_ + count, tokens_.size() - 1)];
    }
    [[nodiscard]] bool is(std::string_view word) const { return now().is(word); }
    // The token at hand. The one after it is at hand then.
    ScriptToken take() {
        ScriptToken token = now();
        if (at_ + 1 < tokens_.size()) ++at_;
        return token;
    }
    // Takes the word if it is at hand.
    bool take_if(std::string_view word) {
        if (!is(word)) return false;
        take();
        return true;
    }
    base::Result<void> expect(std::string_view word);
    base::Result<std::string> take_name();

    // An error about the token at hand.
    [[nodiscard]] tl::unexpected<base::Error> complain(std::string_view what) const;
    // The token at hand cannot stand there.
    [[nodiscard]] tl::unexpected<base::Error> complain_of_token() const;

  private:
    std::vector<ScriptToken> tokens_;
    std::size_t at_ = 0;
};

class ExpressionParser {
  public:
    // Both outlive the parser.
    ExpressionParser(TokenReader& reader, const Names& names) : reader_(reader), names_(names) {}

    base::Result<Expression> read();
    base::Result<std::vector<Expression>> read_list();
    // Takes the name of a builtin that is not called here, as in `local call = redis.call`. Null if
    // something else is at hand.
    const NamedBuiltin* take_uncalled_builtin();
    // A variable with its indexes, or a call.
    base::Result<Expression> read_suffixed();

    [[nodiscard]] Descent& descent() { return descent_; }
    [[nodiscard]] base::Result<void> check_depth() const;

  private:
    base::Result<Expression> read_binary(int priority_min);
    base::Result<Expression> read_unary();
    base::Result<Expression> read_simple();
    base::Result<Expression> read_table();
    base::Result<Expression> read_named();
    base::Result<Expression> read_builtin(const NamedBuiltin& builtin);
    base::Result<std::vector<Expression>> read_arguments();
    base::Result<Expression> join(Expression parent, Expression left, Expression right);
    base::Result<Expression> give_height(Expression parent);

    TokenReader& reader_;
    const Names& names_;
    Descent descent_{script_depth_max};
};

}  // namespace holdfast::doors::redis
