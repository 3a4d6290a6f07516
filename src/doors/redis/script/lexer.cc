#include "doors/redis/script/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

namespace holdfast::doors::redis {

namespace {

using TokenKind = ScriptToken::Kind;

bool is_digit(char character) {
    return character >= '0' && character <= '9';
}

bool is_name_part(char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           character == '_' || is_digit(character);
}

bool is_blank_of_script(char character) {
    return character == ' ' || (character >= '\t' && character <= '\r');
}

// What an escape in a quoted text stands for; nothing if the escape is not understood.
std::optional<char> escaped(char character) {
    switch (character) {
        case 'n': return '\n';
        case 'r': return '\r';
        case 't': return '\t';
        case '\\':
        case '\'':
        case '"':
        case '\n': return character;
        default: return std::nullopt;
    }
}

class Lexer {
  public:
    explicit Lexer(std::string_view text) : text_(text) {}

    base::Result<std::vector<ScriptToken>> run() {
        std::vector<ScriptToken> tokens;
        while (true) {
            TRY(skip_blanks());
            if (rest().empty()) break;
            if (tokens.size() >= script_tokens_max) {
                return complain(
                    fmt::format("the script has more than {} words and signs", script_tokens_max));
            }
            TRY(auto token, next());
            tokens.push_back(std::move(token));
        }
        tokens.push_back({.line = line_});
        return tokens;
    }

  private:
    [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

    [[nodiscard]] tl::unexpected<base::Error> complain(std::string_view what) const {
        return base::fail(fmt::format("line {}: {}", line_, what));
    }

    base::Result<void> skip_blanks() {
        while (!rest().empty()) {
            if (rest().starts_with("--[[")) {
                const std::size_t end = rest().find("]]");
                if (end == std::string_view::npos) return complain("a comment does not end");
                const std::string_view comment = rest().substr(0, end);
                line_ += static_cast<int>(std::count(comment.begin(), comment.end(), '\n'));
                at_ += end + 2;
            } else if (rest().starts_with("--")) {
                at_ += std::min(rest().find('\n'), rest().size());
            } else if (is_blank_of_script(rest().front())) {
                if (rest().front() == '\n') ++line_;
                ++at_;
            } else {
                break;
            }
        }
        return {};
    }

    base::Result<ScriptToken> next() {
        const char first = rest().front();
        if (is_digit(first)) return number();
        if (first == '"' || first == '\'') return quoted();
        if (is_name_part(first)) {
            std::size_t size = 0;
            while (size < rest().size() && is_name_part(rest()[size])) ++size;
            return take(TokenKind::name, size);
        }
        if (rest().starts_with("...")) return complain("'...' is not understood");
        constexpr std::array pairs{"==", "~=", "<=", ">=", ".."};
        for (const std::string_view sign : pairs) {
            if (rest().starts_with(sign)) return take(TokenKind::sign, sign.size());
        }
        constexpr std::string_view signs = "+-*/%#<>=(){}[];,.";
        if (signs.find(first) != std::string_view::npos) return take(TokenKind::sign, 1);
        const bool is_shown = first > ' ' && first < '\x7f';
        return complain(fmt::format(
            "the character {} is not understood",
            is_shown ? fmt::format("'{}'", first) : fmt::format("{:#04x}", first & 0xff)));
    }

    ScriptToken take(TokenKind kind, std::size_t size) {
        ScriptToken token{.kind = kind, .text = std::string(rest().substr(0, size)), .line = line_};
        at_ += size;
        return token;
    }

    // Decimal digits, perhaps with a fraction.
    base::Result<ScriptToken> number() {
        std::size_t size = 0;
        while (size < rest().size() && (is_digit(rest()[size]) || rest()[size] == '.')) ++size;
        const bool is_followed = size < rest().size() && is_name_part(rest()[size]);
        ScriptToken token = take(TokenKind::number, size);
        const auto dots = std::count(token.text.begin(), token.text.end(), '.');
        if (is_followed || dots > 1 || token.text.back() == '.') {
            return complain("this form of number is not understood");
        }
        token.number = std::strtod(token.text.c_str(), nullptr);
        return token;
    }

    base::Result<ScriptToken> quoted() {
        const char quote = rest().front();
        ScriptToken token{.kind = TokenKind::text, .line = line_};
        for (++at_; !rest().empty() && rest().front() != '\n'; ++at_) {
            const char character = rest().front();
            if (character == quote) {
                ++at_;
                return token;
            }
            if (character != '\\') {
                token.text += character;
                continue;
            }
            ++at_;
            const auto meaning = rest().empty() ? std::nullopt : escaped(rest().front());
            if (!meaning) return complain("this escape in a text is not understood");
            if (*meaning == '\n' && rest().front() == '\n') ++line_;
            token.text += *meaning;
        }
        return complain("a text does not end");
    }

    const std::string_view text_;
    std::size_t at_ = 0;
    int line_ = 1;
};

}  // namespace

base::Result<std::vector<ScriptToken>> cut_script(std::string_view text) {
    if (text.size() > script_bytes_max) {
        return base::fail(fmt::format("the script has more than {} bytes", script_bytes_max));
    }
    return Lexer(text).run();
}

}  // namespace holdfast::doors::redis
