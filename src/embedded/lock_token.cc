#include "core/values/token_text.h"
#include "holdfast/lock.h"

namespace holdfast {

std::string LockToken::to_text() const {
    std::string text;
    core::append_token(text,
                       {.fence = core::Fence{fencing_number}, .secret = core::Secret{secret}});
    return text;
}

std::optional<LockToken> LockToken::parse(std::string_view text) {
    const auto token = core::parse_token(text);
    if (!token) return std::nullopt;
    return LockToken{.fencing_number = core::as_number(token->fence),
                     .secret = static_cast<std::uint64_t>(token->secret)};
}

}  // namespace holdfast
