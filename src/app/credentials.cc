#include "app/credentials.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/doors.h"
#include "base/log/log.h"
#include "base/secret.h"
#include "base/token_file.h"
#include "net/loop/endpoint.h"

namespace holdfast::app {

namespace {

void warn_if_readable_by_everybody(const std::string& path) {
    struct stat status {};
    if (path.empty() || ::stat(path.c_str(), &status) != 0) return;
    if ((status.st_mode & S_IROTH) == 0) return;
    base::log(base::LogLevel::warning, "a secret is readable by everybody on this machine",
              {{"file", path}, {"remedy", "chmod o-r"}});
}

// The token in the file; none without a path. It must be something that a header can carry if it is to
// travel in one.
base::Result<std::string> read_token(const std::string& flag, const std::string& path,
                                     bool is_for_http) {
    if (path.empty()) return std::string();
    auto token = base::read_token_file(path);
    if (!token) return base::fail(flag + ": " + token.error().message);
    const auto is_visible = [](char c) { return c > ' ' && c < '\x7f'; };
    if (is_for_http && !std::all_of(token->begin(), token->end(), is_visible)) {
        return base::fail(flag + " " + path +
                          ": a token is letters, digits and signs of ASCII, without spaces");
    }
    warn_if_readable_by_everybody(path);
    return token;
}

}  // namespace

std::shared_ptr<const Tokens> TokenSource::current() const {
    const std::lock_guard guard(mutex_);
    return tokens_;
}

void TokenSource::replace(Tokens tokens) {
    auto fresh = std::make_shared<const Tokens>(std::move(tokens));
    const std::lock_guard guard(mutex_);
    tokens_.swap(fresh);
    version_.fetch_add(1, std::memory_order_release);
}

base::Result<Tokens> Credentials::read_tokens(const Files& files) {
    std::string auth = files.given_auth_token;
    if (auth.empty()) {
        TRY(auth, read_token("--auth-token-file", files.auth_token, files.is_for_http));
    }
    TRY(auto admin, read_token("--admin-token-file", files.admin_token, files.is_for_http));
    return Tokens{.auth = std::move(auth), .admin = std::move(admin)};
}

base::Result<std::unique_ptr<Credentials>> Credentials::read(const ServeOptions& options) {
    const auto open = open_doors(options);
    Files files{.given_auth_token = options.auth_token,
                .auth_token = options.auth_token_file,
                .admin_token = options.admin_token_file,
                .is_for_http = std::any_of(open.begin(), open.end(),
                                           [](const Door* door) { return door->is_http; }),
                .tls = options.tls};
    TRY(auto tokens, read_tokens(files));
    warn_of_open_doors(options);
    std::unique_ptr<net::TlsSource> tls;
    if (!files.tls.certificate_file.empty()) {
        TRY(tls, net::TlsSource::open(files.tls));
        warn_if_readable_by_everybody(files.tls.key_file);
    }
    return std::unique_ptr<Credentials>(
        new Credentials(std::move(files), std::move(tokens), std::move(tls)));
}

base::Result<void> Credentials::read_again() {
    TRY(auto tokens, read_tokens(files_));
    if (tls_) {
        if (auto reloaded = tls_->reload(); !reloaded) return reloaded;
        warn_if_readable_by_everybody(files_.tls.key_file);
    }
    tokens_.replace(std::move(tokens));
    return {};
}

bool is_open(const TokenSource& source) {
    return source.current()->auth.empty();
}

bool admits(const TokenSource& source, std::string_view secret) {
    const auto tokens = source.current();
    const bool is_user = base::equal_in_constant_time(secret, tokens->auth);
    const bool is_admin = base::equal_in_constant_time(secret, tokens->admin);
    return (is_user && !tokens->auth.empty()) || (is_admin && !tokens->admin.empty());
}

}  // namespace holdfast::app
