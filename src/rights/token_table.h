#pragma once

// TokenTable: all tokens of a server, and TokenSource: the table that holds now.
//
// `--auth-token-file` and `--admin-token-file` are two tokens of the table, called `auth` and `admin`,
// with the rights to lock and to administer everything.
//
// A token is replaced if a new table has its name with another secret. It has no rights any more, unless
// tokens overlap: then both secrets are right for a while, with the rights of the new token, so that
// clients can change to it one after the other. A token whose name is gone has no rights at once.
//
// Thread safety: a table does not change; every method of a source from any thread.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rights/token.h"
#include "rights/token_file.h"
#include "rights/wrong_secrets.h"

namespace holdfast::rights {

// The secrets of a server, as they were read.
struct Tokens {
    std::string auth;                                  // may lock everything; empty: there is none
    std::string admin;                                 // may do everything; empty: there is none
    std::optional<std::vector<TokenLine>> lines = {};  // of --tokens; no value: it was not given
};

using TokenClock = std::chrono::steady_clock;

class TokenTable {
  public:
    // How long replaced tokens overlap with the new ones.
    struct Overlap {
        TokenClock::time_point now = {};
        TokenClock::duration length{0};
    };

    // Tokens that are in both tables, with the same name and secret, stay the same objects, with
    // their new rights. The others of `before` have no rights any more, except for those that overlap.
    // `before` may be null.
    TokenTable(const Tokens& tokens, const TokenTable* before, const Overlap& overlap);
    TokenTable(const Tokens& tokens, const TokenTable* before)
        : TokenTable(tokens, before, Overlap{}) {}
    // `before` without the replaced tokens whose time is over by now. They have no rights any more.
    TokenTable(const TokenTable& before, TokenClock::time_point now);

    // Whether everybody may lock, without a token.
    [[nodiscard]] bool is_open() const { return is_open_; }
    // Whether there are no tokens at all: everybody may do everything.
    [[nodiscard]] bool is_empty() const { return is_open_ && tokens_.empty(); }

    // The token with this secret; null if there is none. The time does not show how much of the
    // secret was right.
    [[nodiscard]] TokenPtr find(std::string_view secret) const;
    // The first token that is meant, also among those that were replaced; null if there is none.
    template <class Predicate>
    [[nodiscard]] TokenPtr find_if(Predicate is_meant) const {
        for (const auto& token : tokens_) {
            if (is_meant(*token)) return token;
        }
        for (const Replaced& each : replaced_) {
            if (is_meant(*each.token)) return each.token;
        }
        return nullptr;
    }
    // When the time of the next replaced token is over. No value: there is none.
    [[nodiscard]] std::optional<TokenClock::time_point> next_end() const;
    // The secrets that find() did not find; the door counts them. Tables that follow one another share
    // this.
    [[nodiscard]] WrongSecrets& wrong_secrets() const { return *wrong_secrets_; }
    // A client that has shown no token where none is needed: it may lock, and does not administer.
    [[nodiscard]] const TokenPtr& anonymous() const { return anonymous_; }

    // Without those that were replaced.
    [[nodiscard]] const std::vector<std::shared_ptr<Token>>& tokens() const { return tokens_; }

  private:
    struct Replaced {
        std::shared_ptr<Token> token;
        TokenClock::time_point until;
    };

    void end_or_keep(const Replaced& old, TokenClock::time_point now);
    void add(std::string_view name, const Digest& digest, Grants grants, const TokenTable* before);
    [[nodiscard]] std::shared_ptr<Token> find_digest(const Digest& digest) const;

    std::vector<std::shared_ptr<Token>> tokens_;  // by their digests
    std::vector<Replaced> replaced_;
    TokenPtr anonymous_;
    std::shared_ptr<WrongSecrets> wrong_secrets_;
    bool is_open_;
};

// One who asks often remembers the table, with its version, until that has changed.
class TokenSource {
  public:
    // `overlap`: see TokenTable.
    explicit TokenSource(const Tokens& tokens, TokenClock::duration overlap = {})
        : overlap_(overlap), table_(std::make_shared<const TokenTable>(tokens, nullptr)) {}

    [[nodiscard]] std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
    [[nodiscard]] std::shared_ptr<const TokenTable> current() const;
    void replace(const Tokens& tokens, TokenClock::time_point now = TokenClock::now());
    // Ends the replaced tokens whose time is over by now. To be called at current()->next_end().
    void end_replaced(TokenClock::time_point now);

  private:
    const TokenClock::duration overlap_;
    mutable std::mutex mutex_;
    std::shared_ptr<const TokenTable> table_;  // under mutex_
    std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace holdfast::rights
