#include "rights/token_table.h"

#include <algorithm>
#include <utility>

#include "base/crypto.h"

namespace holdfast::rights {

namespace {

bool has_smaller_digest(const std::shared_ptr<Token>& token, const Digest& digest) {
    return token->digest() < digest;
}

std::string_view bytes_of(const Digest& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

TokenTable::TokenTable(const Tokens& tokens, const TokenTable* before)
    : wrong_secrets_(before != nullptr ? before->wrong_secrets_ : std::make_shared<WrongSecrets>()),
      is_open_(tokens.auth.empty() && !tokens.lines),
      is_of_file_(tokens.lines.has_value()) {
    if (!tokens.auth.empty()) {
        add(auth_token_name, base::sha256(tokens.auth), Grants::everything(Right::lock), before);
    }
    // If both secrets are the same, the client is an administrator.
    if (!tokens.admin.empty() && tokens.admin != tokens.auth) {
        add(admin_token_name, base::sha256(tokens.admin), Grants::everything(Right::admin), before);
    } else if (!tokens.admin.empty()) {
        tokens_.front()->set_grants(Grants::everything(Right::admin));
    }
    if (tokens.lines) {
        for (const TokenLine& line : *tokens.lines) {
            add(line.name, line.digest, line.grants, before);
        }
    }
    anonymous_ = std::make_shared<const Token>(std::string(anonymous_name), Digest{},
                                               Grants::everything(Right::lock));
    std::stable_sort(tokens_.begin(), tokens_.end(),
                     [](const auto& a, const auto& b) { return a->digest() < b->digest(); });
    if (before == nullptr) return;
    // A connection that a token of a flag has admitted stays admitted when that token changes, as it
    // always did: there is only one of its kind, so clients cannot change to the next one before.
    for (const auto& token : before->tokens_) {
        const bool is_of_flag =
            token->name() == auth_token_name || token->name() == admin_token_name;
        if (!is_of_flag && find_digest(token->digest()) != token) token->set_grants({});
    }
}

void TokenTable::add(std::string_view name, const Digest& digest, Grants grants,
                     const TokenTable* before) {
    auto token = before == nullptr ? nullptr : before->find_digest(digest);
    if (token && token->name() == name) {
        token->set_grants(std::move(grants));
    } else {
        token = std::make_shared<Token>(std::string(name), digest, std::move(grants));
    }
    tokens_.push_back(std::move(token));
}

// The search shows at most how many bits of the *hash* agree with that of a token. That helps nobody:
// the secret cannot be found from its hash, and not from a part of it either.
std::shared_ptr<Token> TokenTable::find_digest(const Digest& digest) const {
    const auto found = std::lower_bound(tokens_.begin(), tokens_.end(), digest, has_smaller_digest);
    if (found == tokens_.end()) return nullptr;
    const bool is_same =
        base::equal_in_constant_time(bytes_of((*found)->digest()), bytes_of(digest));
    return is_same ? *found : nullptr;
}

TokenPtr TokenTable::find(std::string_view secret) const {
    if (secret.empty()) return nullptr;
    return find_digest(base::sha256(secret));
}

TokenPtr TokenTable::find_name(std::string_view name) const {
    const auto found = std::find_if(tokens_.begin(), tokens_.end(),
                                    [&](const auto& token) { return token->name() == name; });
    return found == tokens_.end() ? nullptr : *found;
}

std::shared_ptr<const TokenTable> TokenSource::current() const {
    const std::lock_guard guard(mutex_);
    return table_;
}

void TokenSource::replace(const Tokens& tokens) {
    const std::lock_guard guard(mutex_);
    table_ = std::make_shared<const TokenTable>(tokens, table_.get());
    version_.fetch_add(1, std::memory_order_release);
}

}  // namespace holdfast::rights
