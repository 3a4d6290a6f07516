#include "doors/scoped/lease_token.h"

#include "base/text/hex.h"

namespace holdfast::doors::scoped {

namespace {

constexpr std::size_t half_digits = 16;

}  // namespace

void append_token(std::string& out, const core::Token& token) {
    base::append_hex(out, core::as_number(token.fence));
    base::append_hex(out, static_cast<std::uint64_t>(token.secret));
}

std::optional<core::Token> parse_token(std::string_view text) {
    if (text.size() != 2 * half_digits) return std::nullopt;
    const auto fence = base::parse_hex(text.substr(0, half_digits));
    const auto secret = base::parse_hex(text.substr(half_digits));
    if (!fence || !secret) return std::nullopt;
    return core::Token{.fence = core::Fence{*fence}, .secret = core::Secret{*secret}};
}

}  // namespace holdfast::doors::scoped
