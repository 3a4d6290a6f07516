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

TokenTable::TokenTable(const Tokens& tokens, const TokenTable* before, const Overlap& overlap)
    : wrong_secrets_(before != nullptr ? before->wrong_secrets_ : std::make_shared<WrongSecrets>()),
      is_open_(tokens.auth.empty() && !tokens.lines) {
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
    for (const Replaced& old : before->replaced_) end_or_keep(old, overlap.now);
    for (const auto& token : before->tokens_) {
        end_or_keep({.token = token, .until = overlap.now + overlap.length}, overlap.now);
    }
}

TokenTable::TokenTable(const TokenTable& before, TokenClock::time_point now) : TokenTable(before) {
    std::erase_if(replaced_, [now](const Replaced& old) {
        if (old.until > now) return false;
        old.token->set_grants(Grants());
        return true;
    });
}

// A token of the table before: if it is not in this one, its rights end now or later.
void TokenTable::end_or_keep(const Replaced& old, TokenClock::time_point now) {
    const auto same_secret = find_digest(old.token->digest());
    if (same_secret == old.token) return;
    const auto successor = std::find_if(tokens_.begin(), tokens_.end(), [&](const auto& token) {
        return token->name() == old.token->name();
    });
    if (same_secret || successor == tokens_.end() || old.until <= now) {
        return old.token->set_grants(Grants());
    }
    old.token->set_grants_of(**successor);
    replaced_.push_back(old);
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
    const auto is_same = [&](const Token& token) {
        return base::equal_in_constant_time(bytes_of(token.digest()), bytes_of(digest));
    };
    const auto found = std::lower_bound(tokens_.begin(), tokens_.end(), digest, has_smaller_digest);
    if (found != tokens_.end() && is_same(**found)) return *found;
    for (const Replaced& old : replaced_) {
        if (is_same(*old.token)) return old.token;
    }
    return nullptr;
}

TokenPtr TokenTable::find(std::string_view secret) const {
    if (secret.empty()) return nullptr;
    return find_digest(base::sha256(secret));
}

std::optional<TokenClock::time_point> TokenTable::next_end() const {
    std::optional<TokenClock::time_point> next;
    for (const Replaced& old : replaced_) next = next ? std::min(*next, old.until) : old.until;
    return next;
}

std::shared_ptr<const TokenTable> TokenSource::current() const {
    const std::lock_guard guard(mutex_);
    return table_;
}

void TokenSource::replace(const Tokens& tokens, TokenClock::time_point now) {
    const std::lock_guard guard(mutex_);
    const TokenTable::Overlap overlap{.now = now, .length = overlap_};
    table_ = std::make_shared<const TokenTable>(tokens, table_.get(), overlap);
    version_.fetch_add(1, std::memory_order_release);
}

void TokenSource::end_replaced(TokenClock::time_point now) {
    const std::lock_guard guard(mutex_);
    table_ = std::make_shared<const TokenTable>(*table_, now);
    version_.fetch_add(1, std::memory_order_release);
}

}  // namespace holdfast::rights
