#pragma once

// Credentials: the tokens that requests must bear and the certificate the server shows, as read
// from files; and the places where those who need them find what holds now.
//
// Secrets come from files: an argument is in the process list, a variable in every child. Only
// `holdfast dflockd` takes one as such, as dflockd does.
//
// Thread safety: every method from any thread.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "app/serve_options.h"
#include "base/result.h"
#include "doors/dflockd/dflockd_door.h"
#include "doors/redis/redis_door.h"
#include "net/tls/tls_context.h"

namespace holdfast::app {

// The secrets of a server; an empty one is none.
struct Tokens {
    std::string auth;   // may use the server
    std::string admin;  // may do what is an admin's, too
};

// The tokens that hold now. One who asks often remembers them, with the version, until that has
// changed.
class TokenSource {
  public:
    explicit TokenSource(Tokens tokens)
        : tokens_(std::make_shared<const Tokens>(std::move(tokens))) {}

    [[nodiscard]] std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
    [[nodiscard]] std::shared_ptr<const Tokens> current() const;
    void replace(Tokens tokens);

  private:
    mutable std::mutex mutex_;
    std::shared_ptr<const Tokens> tokens_;  // under mutex_
    std::atomic<std::uint64_t> version_ = 0;
};

class Credentials {
  public:
    // Reads what the options name. An error says which file is at fault. Files that everybody on
    // this machine may read are warned of in the log, and so are tokens that will travel in the
    // clear.
    // REQUIRES: check() has passed the options.
    [[nodiscard]] static base::Result<std::unique_ptr<Credentials>> read(
        const ServeOptions& options);

    // Reads the files again. All of them are good, or everything stays as it was.
    [[nodiscard]] base::Result<void> read_again();

    [[nodiscard]] const TokenSource& tokens() const { return tokens_; }
    // Null: connections are plain.
    [[nodiscard]] const net::TlsSource* tls() const { return tls_.get(); }

  private:
    struct Files {
        std::string given_auth_token;  // no file: the token itself, or nothing
        std::string auth_token;
        std::string admin_token;
        bool is_for_http = true;  // false: the tokens never travel in a header
        net::TlsFiles tls;
    };

    Credentials(Files files, Tokens tokens, std::unique_ptr<net::TlsSource> tls)
        : files_(std::move(files)), tokens_(std::move(tokens)), tls_(std::move(tls)) {}

    static base::Result<Tokens> read_tokens(const Files& files);

    const Files files_;
    TokenSource tokens_;
    const std::unique_ptr<net::TlsSource> tls_;
};

// Lets those in who know the auth token, or the admin's.
[[nodiscard]] bool is_open(const TokenSource& source);
[[nodiscard]] bool admits(const TokenSource& source, std::string_view secret);

// TokenGate: the same as the gate of a door.
//
// Thread safety: every method from any thread.
template <class Gate>
class TokenGate final : public Gate {
  public:
    // The source outlives the gate.
    explicit TokenGate(const TokenSource& source) : source_(source) {}

    [[nodiscard]] bool is_open() const override { return app::is_open(source_); }
    [[nodiscard]] bool admits(std::string_view secret) const override {
        return app::admits(source_, secret);
    }

  private:
    const TokenSource& source_;
};

using DflockdTokenGate = TokenGate<doors::dflockd::DflockdGate>;
using RedisTokenGate = TokenGate<doors::redis::RedisGate>;

}  // namespace holdfast::app
