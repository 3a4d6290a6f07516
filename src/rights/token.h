#pragma once

// Token: a client, as the server knows it: by the name of the token whose secret it has shown.
//
// How to think of it: a request that is admitted carries a pointer to its token, and whatever a door
// does for it is asked for first (denial.h). A token is one object for as long as somebody uses it.
// When the server reads its tokens again, the object gets other grants, or none if the token was
// withdrawn. So connections, streams and logins that began before obey the new file at once.
//
// Thread safety: every method from any thread.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/values/view.h"
#include "rights/grants.h"
#include "rights/token_file.h"

namespace holdfast::rights {

class Token : public std::enable_shared_from_this<Token> {
  public:
    Token(std::string name, const Digest& digest, Grants grants);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const Digest& digest() const { return digest_; }

    [[nodiscard]] bool may(Right right, Door door, const core::Scope& scope) const {
        return everywhere(door) >= right || grants()->may(right, door, scope);
    }
    [[nodiscard]] bool may_something(Right right, Door door) const {
        return everywhere(door) >= right || grants()->may_something(right, door);
    }
    [[nodiscard]] bool may_below(Right right, Door door, std::string_view beginning) const {
        return everywhere(door) >= right || grants()->may_below(right, door, beginning);
    }
    // The greatest right on everything.
    [[nodiscard]] Right everywhere(Door door) const {
        return everywhere_[static_cast<std::size_t>(door)].load(std::memory_order_relaxed);
    }

    void set_grants(Grants grants);
    // It may do what the other token may do.
    void set_grants_of(const Token& other);

    // How often it was denied this right.
    void count_denial(Right right) const {
        denials_[static_cast<std::size_t>(right)].fetch_add(1, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t denials(Right right) const {
        return denials_[static_cast<std::size_t>(right)].load(std::memory_order_relaxed);
    }

    // Whether a denial may be logged now: once a second. The value is how many were not, since the
    // last one that was.
    using LogClock = std::chrono::steady_clock;
    [[nodiscard]] std::optional<std::uint64_t> may_log_denial(LogClock::time_point now) const;

  private:
    [[nodiscard]] std::shared_ptr<const Grants> grants() const {
        const std::lock_guard guard(mutex_);
        return grants_;
    }

    void set_grants(std::shared_ptr<const Grants> grants);

    const std::string name_;
    const Digest digest_;
    mutable std::mutex mutex_;
    std::shared_ptr<const Grants> grants_;                         // under mutex_
    std::array<std::atomic<Right>, doors_count> everywhere_ = {};  // of grants_
    mutable std::array<std::atomic<std::uint64_t>, 4> denials_ = {};
    mutable std::optional<LogClock::time_point> logged_at_;  // under mutex_
    mutable std::uint64_t not_logged_ = 0;                   // under mutex_
};

using TokenPtr = std::shared_ptr<const Token>;

// The token, to be kept; null if it is null, which stands for a client without limits.
[[nodiscard]] inline TokenPtr keep(const Token* client) {
    return client == nullptr ? nullptr : client->shared_from_this();
}

// The locks that a listing shows to this client. Null: all of them.
[[nodiscard]] std::shared_ptr<const core::ScopeFilter> readable_by(const Token* client, Door door);

// The scopes that the client has this right on, as its token says whenever it is asked. Null for a null
// client, which has no limits.
[[nodiscard]] std::shared_ptr<const core::ScopeFilter> allowed_to(const Token* client, Right right,
                                                                  Door door);

}  // namespace holdfast::rights
