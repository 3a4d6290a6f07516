#include "base/text/hex.h"
#include "holdfast/lock.h"

namespace holdfast {

namespace {

constexpr std::size_t half_length = 16;

}  // namespace

std::string LockToken::to_text() const {
    std::string text;
    base::append_hex(text, fencing_number);
    base::append_hex(text, secret);
    return text;
}

std::optional<LockToken> LockToken::parse(std::string_view text) {
    if (text.size() != 2 * half_length) return std::nullopt;
    const auto first = base::parse_hex(text.substr(0, half_length));
    const auto second = base::parse_hex(text.substr(half_length));
    if (!first || !second) return std::nullopt;
    return LockToken{.fencing_number = *first, .secret = *second};
}

}  // namespace holdfast
