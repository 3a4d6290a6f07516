#pragma once

// Reads the expressions of a script. The names that are known while it reads are in Names.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doors/redis/script/lexer.h"
#include "doors/redis/script/tree.h"

namespace holdfast::doors::redis {

// The local variables and functions that can be used at one place of the script.
class Names {
  public:
    // A block begins or ends: what it declares is forgotten with it.
    void begin_block() { block_starts_.push_back(known_.size()); }
    void end_block() {
        known_.resize(block_starts_.back());
        block_starts_.pop_back();
    }
    void begin_function() {
        is_in_function_ = true;
        function_places_ = 0;
    }
    // Returns how many places the frame of the function has.
    std::size_t end_function() {
        is_in_function_ = false;
        return function_places_;
    }

    Variable declare(const std::string& name) {
        std::size_t& places = is_in_function_ ? function_places_ : script_places_;
        const Variable variable{.is_of_script = !is_in_function_, .place = places++};
        known_.push_back({.name = name, .variable = variable});
        return variable;
    }
    void declare_function(const std::string& name, std::size_t number) {
        known_.push_back({.name = name, .function = number});
    }

    struct Known {
        std::string name;
        Variable variable;
        std::optional<std::size_t> function;  // set if it is one
    };
    // What the name stands for: the innermost declaration; null if there is none.
    [[nodiscard]] const Known* find(std::string_view name) const {
        for (auto known = known_.rbegin(); known != known_.rend(); ++known) {
            if (known->name == name) return &*known;
        }
        return nullptr;
    }
    [[nodiscard]] bool is_in_function() const { return is_in_function_; }
    [[nodiscard]] std::size_t script_places() const { return script_places_; }

  private:
    std::vector<Known> known_;
    std::vector<std::size_t> block_starts_;
    bool is_in_function_ = false;
    std::size_t script_places_ = 0;
    std::size_t function_places_ = 0;
};

// The tokens of a script, read from the first to the last. Both parsers share one.
class TokenReader {
  public:
    explicit TokenReader(std::vector<ScriptToken> tokens) : tokens_(std::move(tokens)) {}

    [[nodiscard]] const ScriptToken& now() const { return tokens_[at_]; }
    [[nodiscard]] const ScriptToken& next() const {
        return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
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
    // A variable with its indexes, or a call.
    base::Result<Expression> read_suffixed();

    // The parser goes one level deeper, as long as the object lives.
    class Level {
      public:
        explicit Level(int& depth) : depth_(depth) { ++depth_; }
        ~Level() { --depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

      private:
        int& depth_;
    };
    [[nodiscard]] int& depth() { return depth_; }
    [[nodiscard]] base::Result<void> check_depth() const;

  private:
    base::Result<Expression> read_binary(int priority_min);
    base::Result<Expression> read_unary();
    base::Result<Expression> read_simple();
    base::Result<Expression> read_table();
    base::Result<Expression> read_named();
    base::Result<Expression> read_builtin(const std::string& name);
    base::Result<std::vector<Expression>> read_arguments();

    TokenReader& reader_;
    const Names& names_;
    int depth_ = 0;
};

}  // namespace holdfast::doors::redis
