#include "app/credentials.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "app/doors.h"
#include "base/crypto.h"
#include "base/log/log.h"
#include "base/token_file.h"
#include "net/sockets/endpoint.h"

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

// The file has no secrets, but whoever can write to it can give himself every right.
void warn_if_writable_by_everybody(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || (status.st_mode & S_IWOTH) == 0) return;
    base::log(base::LogLevel::warning, "the tokens can be changed by everybody on this machine",
              {{"file", path}, {"remedy", "chmod o-w"}});
}

// What is in the file of --tokens.
base::Result<std::vector<rights::TokenLine>> read_lines(const std::string& path) {
    const auto text = base::read_small_file(path, rights::token_file_bytes_max);
    if (!text) return base::fail("--tokens: cannot read " + path + ": " + text.error().message);
    auto lines = rights::parse_token_file(*text);
    if (!lines) return base::fail("--tokens " + path + ", " + lines.error().message);
    warn_if_writable_by_everybody(path);
    return lines;
}

// A secret must say who the client is.
base::Result<void> check_not_among(const std::vector<rights::TokenLine>& lines,
                                   std::string_view secret, const std::string& path) {
    if (secret.empty()) return {};
    const rights::Digest digest = base::sha256(secret);
    for (const rights::TokenLine& line : lines) {
        if (line.digest != digest) continue;
        return base::fail("--tokens " + path + ": the secret of " + line.name +
                          " is also that of --auth-token-file or --admin-token-file");
    }
    return {};
}

}  // namespace

base::Result<Tokens> Credentials::read_tokens(const Files& files) {
    std::string auth = files.given_auth_token;
    if (auth.empty()) {
        TRY(auth, read_token("--auth-token-file", files.auth_token, files.is_for_http));
    }
    TRY(auto admin, read_token("--admin-token-file", files.admin_token, files.is_for_http));
    Tokens tokens{.auth = std::move(auth), .admin = std::move(admin)};
    if (files.tokens.empty()) return tokens;
    TRY(tokens.lines, read_lines(files.tokens));
    for (const std::string* secret : {&tokens.auth, &tokens.admin}) {
        TRY(check_not_among(*tokens.lines, *secret, files.tokens));
    }
    return tokens;
}

base::Result<std::unique_ptr<Credentials>> Credentials::read(const ServeOptions& options) {
    const auto open = open_doors(options);
    Files files{.given_auth_token = options.auth_token,
                .auth_token = options.auth_token_file,
                .admin_token = options.admin_token_file,
                .tokens = options.tokens_file,
                .is_for_http = std::any_of(open.begin(), open.end(),
                                           [](const Door* door) { return door->is_http; }),
                .tls = options.tls,
                .token_overlap = options.token_overlap};
    TRY(auto tokens, read_tokens(files));
    warn_of_open_doors(options);
    std::unique_ptr<net::TlsSource> tls;
    if (!files.tls.certificate_file.empty()) {
        TRY(tls, net::TlsSource::open(files.tls));
        warn_if_readable_by_everybody(files.tls.key_file);
    }
    return std::unique_ptr<Credentials>(new Credentials(std::move(files), tokens, std::move(tls)));
}

base::Result<Credentials::Fresh> Credentials::read_files() const {
    Fresh fresh;
    TRY(fresh.tokens, read_tokens(files_));
    if (tls_) {
        TRY(fresh.tls, tls_->load());
        warn_if_readable_by_everybody(files_.tls.key_file);
    }
    return fresh;
}

void Credentials::replace(Fresh fresh) {
    if (tls_) tls_->replace(std::move(fresh.tls));
    tokens_.replace(fresh.tokens);
}

base::Result<void> Credentials::read_again() {
    TRY(auto fresh, read_files());
    replace(std::move(fresh));
    return {};
}

}  // namespace holdfast::app
