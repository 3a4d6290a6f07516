#include "rights/token.h"

#include <utility>

namespace holdfast::rights {

namespace {

class ScopesOfToken final : public core::ScopeFilter {
  public:
    ScopesOfToken(TokenPtr client, Right right, Door door)
        : client_(std::move(client)), right_(right), door_(door) {}

    [[nodiscard]] bool includes(const core::Scope& scope) const override {
        return client_->may(right_, door_, scope);
    }

  private:
    const TokenPtr client_;
    const Right right_;
    const Door door_;
};

}  // namespace

Token::Token(std::string name, const Digest& digest, Grants grants)
    : name_(std::move(name)), digest_(digest) {
    set_grants(std::move(grants));
}

// A request that asks at this moment may see the old greatest right together with the new grants: it
// is answered as if it had come a moment earlier.
void Token::set_grants(std::shared_ptr<const Grants> grants) {
    const std::lock_guard guard(mutex_);
    grants_ = std::move(grants);
    for (const Door door : {Door::http, Door::dflockd, Door::redis, Door::files}) {
        everywhere_[static_cast<std::size_t>(door)].store(grants_->everywhere(door),
                                                          std::memory_order_relaxed);
    }
}

void Token::set_grants(Grants grants) {
    set_grants(std::make_shared<const Grants>(std::move(grants)));
}

void Token::set_grants_of(const Token& other) {
    set_grants(other.grants());
}

std::optional<std::uint64_t> Token::may_log_denial(LogClock::time_point now) const {
    const std::lock_guard guard(mutex_);
    if (logged_at_ && now - *logged_at_ < std::chrono::seconds{1}) {
        ++not_logged_;
        return std::nullopt;
    }
    logged_at_ = now;
    return std::exchange(not_logged_, 0);
}

std::shared_ptr<const core::ScopeFilter> readable_by(const Token* client, Door door) {
    if (client == nullptr || client->everywhere(door) >= Right::read) return nullptr;
    return allowed_to(client, Right::read, door);
}

std::shared_ptr<const core::ScopeFilter> allowed_to(const Token* client, Right right, Door door) {
    if (client == nullptr) return nullptr;
    return std::make_shared<const ScopesOfToken>(client->shared_from_this(), right, door);
}

}  // namespace holdfast::rights
