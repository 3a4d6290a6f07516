#include "core/values/ids.h"

#include "base/text/hex.h"

namespace holdfast::core {

void append_token(std::string& out, const Token& token) {
    base::append_hex(out, as_number(token.fence));
    base::append_hex(out, static_cast<std::uint64_t>(token.secret));
}

std::optional<Token> parse_token(std::string_view text) {
    if (text.size() != 2 * base::hex_digits) return std::nullopt;
    const auto fence = base::parse_hex(text.substr(0, base::hex_digits));
    const auto secret = base::parse_hex(text.substr(base::hex_digits));
    if (!fence || !secret) return std::nullopt;
    return Token{.fence = Fence{*fence}, .secret = Secret{*secret}};
}

}  // namespace holdfast::core
