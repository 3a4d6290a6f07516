// Secrets for the server.
//
//     holdfast token new NAME RIGHT PATTERN...   a token for the file of `holdfast serve --tokens`
//     holdfast token make FILE                   a secret for `--auth-token-file` or `--admin-token-file`

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/commands.h"
#include "base/descriptor.h"
#include "base/json/json_writer.h"
#include "base/token_file.h"
#include "cli/failure.h"
#include "options/options.h"
#include "rights/token_file.h"

namespace holdfast::app {

namespace {

struct TokenCommand {
    std::string name;
    std::vector<std::string> rights;
    std::string path;         // of the file; empty: the line is printed
    std::string secret_path;  // of the file with the secret; empty: the secret is printed
    bool is_json = false;
};

struct MakeCommand {
    std::string path;
    bool is_replacing = false;
};

void declare_token_options(const options::Command& command, TokenCommand& token) {
    command.add_option("NAME", token.name, "what the log and the metrics call it").required();
    command
        .add_option("RIGHT", token.rights,
                    "read, lock or admin, and behind each what it is for; @http,dflockd: only at "
                    "these doors")
        .takes("RIGHT PATTERN")
        .required();
    command
        .add_file("--tokens", token.path, "add the token to FILE, which is made if it is not there")
        .variable("HOLDFAST_TOKENS");
    command.add_file(
        "--secret-file", token.secret_path,
        "write the secret to FILE, which only you may read, instead of printing it; FILE "
        "must be new");
    command.add_flag("--json", token.is_json, "print JSON, also for failures").not_in_files();
    command.footer(
        "Prints the secret, which is kept nowhere else, or writes it to --secret-file. Without\n"
        "--tokens, the line for the file follows; otherwise only its hash is written to the file.\n"
        "A server that is running reads its tokens again on SIGHUP.\n"
        "\n"
        "  holdfast token new ci lock 'deploy/*' read '*' --tokens tokens.conf \\\n"
        "      --secret-file ci.token\n"
        "  holdfast token new backup lock 'path:/srv/*' @files\n"
        "\n"
        "Patterns: a name, the beginning of names (deploy/*), everything (*), path:/srv/*,\n"
        "inode:7, range:7:0-4096. Doors: http, dflockd, redis, files.");
}

void declare_make_options(const options::Command& command, MakeCommand& make) {
    command.add_file("FILE", make.path, "the file, which only you may read").required();
    command.add_flag("--replace", make.is_replacing,
                     "put the new secret in the place of the one in FILE, which keeps its "
                     "permissions");
    command.footer(
        "For serve --auth-token-file and --admin-token-file, and for clients (--token-file). The\n"
        "secret is not printed. A server that is running reads its tokens again on SIGHUP.\n"
        "\n"
        "  holdfast token make auth.token\n"
        "  holdfast token make --replace auth.token");
}

tl::unexpected<base::Error> fail_at(const std::string& path) {
    return base::fail("cannot write " + path + ": " + std::strerror(errno));
}

base::Result<void> write_all(const base::Descriptor& file, std::string_view text,
                             const std::string& path) {
    while (!text.empty()) {
        const ssize_t count = ::write(file.get(), text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return fail_at(path);
        text.remove_prefix(static_cast<std::size_t>(count));
    }
    if (::fsync(file.get()) != 0) return fail_at(path);
    return {};
}

// Puts a new file in the place of the old one, in one step. The new file has the permissions of the old
// one; if there was none, only its owner may read it.
base::Result<void> replace_file(const std::string& path, std::string_view text) {
    std::string temporary = path + ".XXXXXX";
    const base::Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (file.get() < 0) return fail_at(path);
    struct stat before {};
    const bool is_there = ::stat(path.c_str(), &before) == 0;
    auto done = write_all(file, text, temporary);
    if (done && is_there) {
        const bool is_as_before = ::fchmod(file.get(), before.st_mode & 07777) == 0 &&
                                  ::fchown(file.get(), before.st_uid, before.st_gid) == 0;
        if (!is_as_before) done = fail_at(path);
    }
    if (done && ::rename(temporary.c_str(), path.c_str()) != 0) done = fail_at(path);
    if (!done) ::unlink(temporary.c_str());
    return done;
}

// Makes a file that only its owner may read. There must be none: it may be the only copy of a secret.
base::Result<void> write_new_file(const std::string& path, std::string_view text) {
    const base::Descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file) return fail_at(path);
    auto done = write_all(file, text, path);
    if (!done) ::unlink(path.c_str());
    return done;
}

// Waits until nobody else changes a token file in the folder of `path`. The lock is on the folder,
// because the file itself is replaced. It ends with the descriptor.
base::Result<base::Descriptor> lock_folder_of(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    base::Descriptor opened(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened) return fail_at(path);
    while (::flock(opened.get(), LOCK_EX) != 0) {
        if (errno != EINTR) return fail_at(path);
    }
    return opened;
}

// The file with one more line, if that is still a file that a server would read.
base::Result<void> add_line(const std::string& path, std::string_view line) {
    TRY(const auto alone, lock_folder_of(path));
    std::string text;
    struct stat status {};
    const bool is_there = ::stat(path.c_str(), &status) == 0;
    if (is_there) {
        auto read = base::read_small_file(path, rights::token_file_bytes_max);
        if (!read) return base::fail("cannot read " + path + ": " + read.error().message);
        text = std::move(*read);
        if (const auto lines = rights::parse_token_file(text); !lines) {
            return base::fail(path + ", " + lines.error().message);
        }
    }
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += line;
    if (text.size() > rights::token_file_bytes_max) return base::fail(path + " is full");
    if (const auto lines = rights::parse_token_file(text); !lines) {
        return base::fail(path + ": " + lines.error().message);
    }
    return replace_file(path, text);
}

base::Result<std::string> make_line(const TokenCommand& token, std::string_view secret) {
    if (!rights::is_token_name(token.name)) {
        return base::fail("the name of a token is letters, digits, `.`, `_` and `-`, at most " +
                          std::to_string(rights::token_name_bytes_max));
    }
    std::string line = token.name;
    for (const std::string& word : token.rights) {
        const bool is_word = word.find_first_of(" \t\r\n\v\f") == word.npos &&
                             !word.starts_with('#') && !word.empty();
        if (!is_word) {
            return base::fail("a pattern is one word: write a blank in a name as %20, # as %23");
        }
        line += ' ' + word;
    }
    line += ' ' + rights::to_text(base::sha256(secret)) + '\n';
    const auto read = rights::parse_token_file(line);
    if (read) return line;
    constexpr std::string_view where = "line 1: ";
    std::string_view why = read.error().message;
    if (why.starts_with(where)) why.remove_prefix(where.size());
    return base::fail(std::string(why));
}

void print_json(const TokenCommand& token, std::string_view secret, std::string_view line) {
    line.remove_suffix(1);  // the end of the line
    std::string text;
    base::JsonWriter json(text);
    json.begin_object().field("name", token.name);
    if (token.secret_path.empty()) json.field("secret", secret);
    json.field("line", line).end_object();
    std::printf("%s\n", text.c_str());
}

void print_lines(const TokenCommand& token, const std::string& secret, const std::string& line) {
    if (token.secret_path.empty()) std::printf("%s\n", secret.c_str());
    if (token.path.empty()) std::fputs(line.c_str(), stdout);
    if (!token.secret_path.empty() || ::isatty(STDOUT_FILENO) != 1) return;
    const char* const rest =
        token.path.empty()
            ? "Above: the secret, which is shown only now, and the line for the file of --tokens.\n"
            : "Above: the secret, which is shown only now. A server that is running reads the file "
              "again on SIGHUP.\n";
    std::fputs(rest, stderr);
}

// Writes what goes to files: the secret first, so that no token is added whose secret nobody has.
base::Result<void> keep(const TokenCommand& token, const std::string& secret,
                        const std::string& line) {
    if (!token.secret_path.empty()) {
        TRY(write_new_file(token.secret_path, secret + '\n'));
    }
    if (token.path.empty()) return {};
    auto added = add_line(token.path, line);
    if (!added && !token.secret_path.empty()) ::unlink(token.secret_path.c_str());
    return added;
}

cli::Asked<int> run_token_new(const TokenCommand& token) {
    const std::string secret = rights::new_secret();
    const auto line = make_line(token, secret);
    if (!line) return cli::fail(options::exit_usage, line.error().message);
    if (const auto kept = keep(token, secret, *line); !kept) {
        return cli::fail(EXIT_FAILURE, kept.error().message);
    }
    if (token.is_json) {
        print_json(token, secret, *line);
    } else {
        print_lines(token, secret, *line);
    }
    return EXIT_SUCCESS;
}

cli::Asked<int> run_token_make(const MakeCommand& make) {
    const std::string text = rights::new_secret() + '\n';
    const auto made =
        make.is_replacing ? replace_file(make.path, text) : write_new_file(make.path, text);
    if (!made) return cli::fail(EXIT_FAILURE, made.error().message);
    return EXIT_SUCCESS;
}

}  // namespace

cli::Command declare_token(const options::Command& program) {
    const auto token = std::make_shared<TokenCommand>();
    const auto make = std::make_shared<MakeCommand>();
    const options::Command command =
        program.add_command("token", "make tokens for the server, each with rights of its own");
    command.requires_commands(1, 1);
    declare_token_options(command.add_command("new", "make a token and show its secret, once"),
                          *token);
    const options::Command make_command =
        command.add_command("make", "make a secret and write it to a file");
    declare_make_options(make_command, *make);
    return {command, [token, make, make_command] {
                return make_command.is_called() ? run_token_make(*make) : run_token_new(*token);
            }};
}

}  // namespace holdfast::app
