#pragma once

// RedisDoor: what all Redis connections of a server share.
//
// Thread safety: every method from any thread.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "core/values/request.h"
#include "doors/redis/script/script_cache.h"
#include "rights/token_table.h"
#include "service/ports/clock.h"

namespace holdfast::doors::redis {

// What HELLO and INFO call themselves. Clients of StackExchange.Redis use DELEX and SET ... IFEQ
// instead of WATCH and MULTI from this version on.
inline constexpr std::string_view redis_version = "8.4.0";

// Databases by number, as Redis has them by default.
inline constexpr unsigned databases = 16;

// So many keys may be named by one command or script: their changes are one commit, and a commit of
// a cluster has a limit.
inline constexpr std::size_t keys_max = 64;

// The options of the operator.
struct RedisOptions {
    // Refuses commands that would end or prolong a lock whose value the client has not shown.
    bool is_strict = false;
    // The longest lease. A client that asks for a longer one is given this one: clients in the field
    // ask for thousands of years and mean `for ever`.
    core::Duration ttl_max = core::Limits{}.ttl_max;
    // How long a peer with a wrong password waits for its answer: guessing must take time.
    std::chrono::milliseconds refusal_delay{100};
    // How long a connection may take to show the password, if one is needed.
    std::chrono::milliseconds auth_timeout{10'000};
};

class RedisDoor {
  public:
    // The tokens and the clock outlive the door. The tokens say which peers are admitted, and what
    // those may do.
    RedisDoor(const RedisOptions& options, const rights::TokenSource& tokens,
              const service::Clock& clock)
        : options_(options), tokens_(tokens), clock_(clock) {}

    [[nodiscard]] const RedisOptions& options() const { return options_; }
    [[nodiscard]] const rights::TokenSource& tokens() const { return tokens_; }
    [[nodiscard]] const service::Clock& clock() const { return clock_; }
    [[nodiscard]] ScriptCache& scripts() { return scripts_; }

    // The number of a new connection.
    [[nodiscard]] std::int64_t enter() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

  private:
    const RedisOptions options_;
    const rights::TokenSource& tokens_;
    const service::Clock& clock_;
    ScriptCache scripts_;
    std::atomic<std::int64_t> next_id_ = 1;
};

}  // namespace holdfast::doors::redis
