#pragma once

// Credentials: the tokens that requests must bear and the certificate the server shows, as read
// from files; and the places where those who need them find what holds now. What a token may do is told
// in src/rights.
//
// Secrets come from files: an argument is in the process list, a variable in every child. Only
// `holdfast dflockd` takes one as such, as dflockd does.
//
// Thread safety: every method from any thread.

#include <memory>
#include <string>

#include "app/serve_options.h"
#include "base/result.h"
#include "net/tls/tls_context.h"
#include "rights/token_table.h"

namespace holdfast::app {

using rights::Tokens;
using rights::TokenSource;

class Credentials {
  public:
    // Reads what the options name. An error says which file is at fault. Files that everybody on
    // this machine may read are warned of in the log, and so are tokens that will travel in the
    // clear.
    // REQUIRES: check() has passed the options.
    [[nodiscard]] static base::Result<std::unique_ptr<Credentials>> read(
        const ServeOptions& options);

    // What is in the files now.
    struct Fresh {
        Tokens tokens;
        std::shared_ptr<const net::TlsContext> tls;  // null: connections are plain
    };
    // Reads the files again, and changes nothing yet. Fails unless all of them are good.
    [[nodiscard]] base::Result<Fresh> read_files() const;
    void replace(Fresh fresh);
    // Both. All files are good, or everything stays as it was.
    [[nodiscard]] base::Result<void> read_again();

    // Ends the tokens that were replaced, and whose overlap is over (--token-overlap).
    void end_replaced_tokens() { tokens_.end_replaced(rights::TokenClock::now()); }

    [[nodiscard]] const TokenSource& tokens() const { return tokens_; }
    // Null: connections are plain.
    [[nodiscard]] const net::TlsSource* tls() const { return tls_.get(); }

  private:
    struct Files {
        std::string given_auth_token;  // no file: the token itself, or nothing
        std::string auth_token;
        std::string admin_token;
        std::string tokens;
        bool is_for_http = true;  // false: the tokens never travel in a header
        net::TlsFiles tls;
        core::Duration token_overlap{0};
    };

    Credentials(Files files, const Tokens& tokens, std::unique_ptr<net::TlsSource> tls)
        : files_(std::move(files)), tokens_(tokens, files_.token_overlap), tls_(std::move(tls)) {}

    static base::Result<Tokens> read_tokens(const Files& files);

    const Files files_;
    TokenSource tokens_;
    const std::unique_ptr<net::TlsSource> tls_;
};

}  // namespace holdfast::app
