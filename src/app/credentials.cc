#include "app/credentials.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "app/doors.h"
#include "base/log/log.h"
#include "base/secret.h"
#include "net/loop/endpoint.h"

namespace holdfast::app {

namespace {

constexpr std::size_t token_bytes_max = 4096;

// A descriptor that is closed in the end.
class File {
  public:
    explicit File(const std::string& path)
        : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~File() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
};

// Up to `size` bytes of the file, or the system's reason why not.
base::Result<std::string> read_beginning(const std::string& path, std::size_t size) {
    const File file(path);
    std::string text(size, '\0');
    std::size_t filled = 0;
    while (file.descriptor() >= 0 && filled < size) {
        const ssize_t count = ::read(file.descriptor(), &text[filled], size - filled);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        if (count == 0) return text.substr(0, filled);
        filled += static_cast<std::size_t>(count);
    }
    if (filled == size) return text;
    return base::fail(std::strerror(errno));
}

void warn_if_readable_by_everybody(const std::string& path) {
    struct stat status {};
    if (path.empty() || ::stat(path.c_str(), &status) != 0) return;
    if ((status.st_mode & S_IROTH) == 0) return;
    base::log(base::LogLevel::warning, "a secret is readable by everybody on this machine",
              {{"file", path}, {"remedy", "chmod o-r"}});
}

// The text without the blanks and line ends around it.
std::string_view trim(std::string_view text) {
    constexpr std::string_view blanks = " \t\n\v\f\r";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// The first line of the file that is not blank, without the blanks around it. It must be something
// that a header can carry if it is to travel in one.
base::Result<std::string> read_token(const std::string& flag, const std::string& path,
                                     bool is_for_http) {
    if (path.empty()) return std::string();
    const auto text = read_beginning(path, token_bytes_max + 2);
    if (!text) return base::fail("cannot read " + flag + " " + path + ": " + text.error().message);
    std::string_view line = trim(*text);
    line = trim(line.substr(0, line.find('\n')));
    if (line.empty()) {
        return base::fail(flag + " " + path +
                          ": there is no token in it, it is empty but for blanks");
    }
    if (line.size() > token_bytes_max) {
        return base::fail(flag + " " + path + ": the first line is too long for a token");
    }
    const auto is_visible = [](char c) { return c > ' ' && c < '\x7f'; };
    if (is_for_http && !std::all_of(line.begin(), line.end(), is_visible)) {
        return base::fail(flag + " " + path +
                          ": a token is letters, digits and signs of ASCII, without spaces");
    }
    warn_if_readable_by_everybody(path);
    return std::string(line);
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

bool DflockdTokenGate::is_open() const {
    return source_.current()->auth.empty();
}

bool DflockdTokenGate::admits(std::string_view secret) const {
    const auto tokens = source_.current();
    const bool is_user = base::equal_in_constant_time(secret, tokens->auth);
    const bool is_admin = base::equal_in_constant_time(secret, tokens->admin);
    return (is_user && !tokens->auth.empty()) || (is_admin && !tokens->admin.empty());
}

}  // namespace holdfast::app
