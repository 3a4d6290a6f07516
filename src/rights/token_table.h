#pragma once

// TokenTable: all tokens of a server, and TokenSource: the table that holds now.
//
// `--auth-token-file` and `--admin-token-file` are two tokens of the table, called `auth` and `admin`,
// with the rights to lock and to administer everything.
//
// Thread safety: a table does not change; every method of a source from any thread.

#include <atomic>
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

class TokenTable {
  public:
    // Tokens that are in both tables, with the same name and secret, stay the same objects, with
    // their new rights. The others of `before` have no rights any more. `before` may be null.
    TokenTable(const Tokens& tokens, const TokenTable* before);

    // Whether everybody may lock, without a token.
    [[nodiscard]] bool is_open() const { return is_open_; }
    // Whether there are no tokens at all: everybody may do everything.
    [[nodiscard]] bool is_empty() const { return is_open_ && tokens_.empty(); }
    // Whether the tokens are those of a file.
    [[nodiscard]] bool is_of_file() const { return is_of_file_; }

    // The token with this secret; null if there is none. The time does not show how much of the
    // secret was right.
    [[nodiscard]] TokenPtr find(std::string_view secret) const;
    [[nodiscard]] TokenPtr find_name(std::string_view name) const;
    // The secrets that find() did not find; the door counts them. Tables that follow one another share
    // this.
    [[nodiscard]] WrongSecrets& wrong_secrets() const { return *wrong_secrets_; }
    // A client that has shown no token where none is needed: it may lock, and does not administer.
    [[nodiscard]] const TokenPtr& anonymous() const { return anonymous_; }

    [[nodiscard]] const std::vector<std::shared_ptr<Token>>& tokens() const { return tokens_; }

  private:
    void add(std::string_view name, const Digest& digest, Grants grants, const TokenTable* before);
    [[nodiscard]] std::shared_ptr<Token> find_digest(const Digest& digest) const;

    std::vector<std::shared_ptr<Token>> tokens_;  // by their digests
    TokenPtr anonymous_;
    std::shared_ptr<WrongSecrets> wrong_secrets_;
    bool is_open_;
    bool is_of_file_;
};

// One who asks often remembers the table, with its version, until that has changed.
class TokenSource {
  public:
    explicit TokenSource(const Tokens& tokens)
        : table_(std::make_shared<const TokenTable>(tokens, nullptr)) {}

    [[nodiscard]] std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
    [[nodiscard]] std::shared_ptr<const TokenTable> current() const;
    void replace(const Tokens& tokens);

  private:
    mutable std::mutex mutex_;
    std::shared_ptr<const TokenTable> table_;  // under mutex_
    std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace holdfast::rights
