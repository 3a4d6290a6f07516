#include "app/dflockd/dflockd_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <limits>
#include <string_view>
#include <variant>

#include "app/dflockd/dflockd_settings.h"
#include "app/dflockd/go_flags.h"
#include "options/command_tree.h"
#include "options/options.h"

namespace holdfast::app {

namespace {

using Seconds = std::chrono::duration<double>;

// The words for values in the help that are whole numbers in Go.
constexpr const char* count_word = "UINT";
constexpr const char* seconds_word = "SECONDS";

constexpr std::size_t port_max = std::numeric_limits<std::uint16_t>::max();

std::string_view without_sign(std::string_view text) {
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    return text;
}

bool is_whole_number(std::string_view text) {
    text = without_sign(text);
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_number(std::string_view text) {
    Seconds value{};
    return parse_seconds(without_sign(text), value);
}

// Lets the option take its value from the first of the variables that is set; they have had other
// names. dflockd 1 ignores a text that is no value for its flag, and so does this.
template <class Test>
void read_variable(const options::Option& option, const std::vector<std::string>& names,
                   DflockdCommand& options, Test is_value) {
    std::string unset;
    for (const std::string& name : names) {
        const std::string text = variable_of(name);
        if (text.empty()) {
            unset = name;
        } else if (is_value(text)) {
            option.variable(name);
            return;
        } else {
            options.ignored.push_back(fmt::format("{}={}", name, text));
        }
    }
    option.variable(unset);  // for the help
}

// A flag of dflockd, and the variables that have its value where the command line has not.
struct Flag {
    std::string names;
    std::vector<std::string> variables;
    std::string help;
};

// Declares flags in dflockd's way.
class Flags {
  public:
    Flags(const options::Command& command, DflockdCommand& options)
        : command_(command), options_(options) {}

    void add(const Flag& flag, core::Duration* value) { add_seconds(flag, *value); }
    void add(const Flag& flag, std::chrono::milliseconds* value) { add_seconds(flag, *value); }
    void add(const Flag& flag, std::size_t* value) { add_count(flag, *value, SIZE_MAX); }
    void add(Flag flag, bool* value) {
        if (*value) flag.names += ",!--no-" + flag.names.substr(2);
        const options::Option option = command_.add_flag(flag.names, *value, flag.help);
        read_variable(option, flag.variables, options_, options::is_flag_value);
    }

    void add_count(const Flag& flag, std::size_t& value, std::size_t most) {
        const auto parse = [&value, most](const std::vector<std::string>& texts) {
            return parse_count(texts.back(), value) && value <= most;
        };
        const options::Option option =
            command_.add_option(flag.names, parse, flag.help).takes(count_word);
        option.shows_default(std::to_string(value));
        read_variable(option, flag.variables, options_, is_whole_number);
    }

    // Seconds that nobody here needs.
    void add_idle_seconds(const Flag& flag, const std::string& shown_default) {
        const auto parse = [](const std::vector<std::string>& texts) {
            Seconds value{};
            return parse_seconds(texts.back(), value);
        };
        const options::Option option =
            command_.add_option(flag.names, parse, flag.help).takes(seconds_word);
        option.shows_default(shown_default);
        read_variable(option, flag.variables, options_, is_number);
    }

  private:
    template <class Duration>
    void add_seconds(const Flag& flag, Duration& value) {
        const auto parse = [&value](const std::vector<std::string>& texts) {
            Seconds seconds{};
            if (!parse_seconds(texts.back(), seconds)) return false;
            value = std::chrono::ceil<Duration>(seconds);
            return true;
        };
        const options::Option option =
            command_.add_option(flag.names, parse, flag.help).takes(seconds_word);
        option.shows_default(
            std::to_string(std::chrono::floor<std::chrono::seconds>(value).count()));
        read_variable(option, flag.variables, options_, is_number);
    }

    const options::Command command_;
    DflockdCommand& options_;
};

void declare_secrets(const options::Command& command, DflockdCommand& options) {
    // Their variables are looked at later: a flag for either beats a variable for either.
    command.add_option("--auth-token", options.auth_token,
                       "token that clients must send ($DFLOCKD_AUTH_TOKEN); a file is safer");
    command
        .add_option("--auth-token-file", options.auth_token_file,
                    "file with that token ($DFLOCKD_AUTH_TOKEN_FILE)")
        .takes("FILE");
    command
        .add_option("--tls-cert", options.serve.tls.certificate_file,
                    "use TLS with this certificate chain, in PEM form")
        .takes("FILE")
        .variable("DFLOCKD_TLS_CERT");
    command
        .add_option("--tls-key", options.serve.tls.key_file, "key of the certificate, in PEM form")
        .takes("FILE")
        .variable("DFLOCKD_TLS_KEY");
}

void declare_ignored(const options::Command& command, DflockdCommand& options) {
    for (const IgnoredSetting& ignored : ignored_settings()) {
        if (ignored.is_time) continue;
        const auto note = [&options, flag = ignored.flag](const std::vector<std::string>& texts) {
            const bool is_off = texts.back().empty() || texts.back() == "0";
            if (!is_off) options.ignored.push_back(flag + " " + texts.back());
            return true;
        };
        command.add_option(ignored.flag, note, "accepted and ignored")
            .takes("VALUE")
            .group("Flags of dflockd without effect here")
            .variable(ignored.variables.front());
    }
}

void declare_flags_of_dflockd(const options::Command& command, DflockdCommand& options) {
    Flags flags(command, options);
    command.add_option("--host", options.host, "address to listen on")
        .variable("DFLOCKD_HOST")
        .shows_default();
    flags.add_count({"--port", {"DFLOCKD_PORT"}, "port to listen on; 0 is any free port"},
                    options.port, port_max);
    for (const DflockdSetting& setting : dflockd_settings()) {
        const Flag flag{setting.flag, setting.variables, setting.flag_help};
        std::visit([&](auto* value) { flags.add(flag, value); }, setting.place(options.serve));
    }
    for (const IgnoredSetting& ignored : ignored_settings()) {
        const bool is_sweep = ignored.flag == "--lease-sweep-interval";
        if (!ignored.is_time) continue;
        flags.add_idle_seconds(
            {ignored.flag, ignored.variables,
             is_sweep ? "accepted and ignored: leases end on time here"
                      : "accepted and ignored: idle keys are removed on time here"},
            is_sweep ? "1" : "5");
    }
    declare_secrets(command, options);
    flags.add({"--debug", {"DFLOCKD_DEBUG"}, "log more"}, &options.is_debugging);
    declare_ignored(command, options);
    command.version("--version", "holdfast " HOLDFAST_VERSION);
    command.last_options_count();
}

// A flag for either beats a variable for either.
base::Result<void> read_secret(const DflockdCommand& options, ServeOptions& serve) {
    std::string secret = options.auth_token;
    std::string_view source = "--auth-token";
    serve.auth_token_file = options.auth_token_file;
    if (secret.empty() && serve.auth_token_file.empty()) {
        secret = variable_of("DFLOCKD_AUTH_TOKEN");
        source = "DFLOCKD_AUTH_TOKEN";
        serve.auth_token_file = variable_of("DFLOCKD_AUTH_TOKEN_FILE");
    }
    if (secret.empty()) return {};
    TRY(serve.auth_token, clean_secret(secret, source));
    return {};
}

// Which of the options are flags without a value, and which have a value that is no number in Go.
struct Kinds {
    std::vector<std::string> booleans, texts;
};

Kinds kinds_of(const options::Command& command) {
    Kinds kinds;
    const auto entries = options::list_commands(command);
    for (const options::CommandOption& option : entries.front().options) {
        const bool is_number =
            option.value.starts_with(count_word) || option.value.starts_with(seconds_word);
        if (is_number) continue;
        for (const std::string& name : option.names) {
            if (!name.starts_with("--")) continue;
            (option.value.empty() ? kinds.booleans : kinds.texts).push_back(name.substr(2));
        }
    }
    return kinds;
}

}  // namespace

ServeOptions dflockd_defaults() {
    ServeOptions serve;
    serve.http_address = no_address;
    serve.dflockd_address = "127.0.0.1:" + std::to_string(dflockd_port_usual);
    serve.is_dflockd_unguarded = true;  // dflockd asks for no token either; the log will say so
    serve.is_in_memory = true;
    serve.dflockd_limits = {.locks_max = 1024, .idle_max = std::chrono::seconds{60}};
    serve.shutdown_timeout = std::chrono::seconds{30};
    return serve;
}

void declare_dflockd_options(const options::Command& command, DflockdCommand& options) {
    declare_flags_of_dflockd(command, options);
    command
        .add_option("--data", options.data_folder,
                    "Holdfast only: folder of the database, in which locks survive a restart")
        .takes("DIR");
    command
        .add_option("--threads", options.serve.threads,
                    "Holdfast only: number of threads that serve connections")
        .between(1, 256)
        .shows_default();
    command.begin_group("Options of holdfast serve");
    declare_other_doors(command, options.serve);
    command.footer(
        "The flags and variables (DFLOCKD_PORT, DFLOCKD_MAX_LOCKS, ...) are those of dflockd. A\n"
        "further door opens if its address is given; beyond this machine it needs a token or\n"
        "--insecure.\n"
        "To acquire a lock for a minute by hand:\n"
        "  printf 'l\\nmykey\\n10 60\\n' | nc 127.0.0.1 6388");
}

base::Result<ServeOptions> to_serve_options(const DflockdCommand& options) {
    ServeOptions serve = options.serve;
    if (serve.tls.certificate_file.empty() != serve.tls.key_file.empty()) {
        return base::fail("both --tls-cert and --tls-key must be provided together");
    }
    TRY(serve.dflockd_address,
        find_address(options.host, static_cast<std::uint16_t>(options.port), "--host"));
    TRY(read_secret(options, serve));
    serve.data_folder = options.data_folder;
    serve.is_in_memory = options.data_folder.empty();
    // Without a limit of its own, dflockd has none.
    std::size_t& connections_max = serve.dflockd_limits.connections_max;
    if (connections_max == 0) connections_max = SIZE_MAX;
    serve.dflockd_limits.connections_option = "--max-connections";
    const bool is_patient = serve.shutdown_timeout == std::chrono::milliseconds::zero();
    if (is_patient) serve.shutdown_timeout = for_ever;
    serve.log_format = isatty(STDERR_FILENO) == 1 ? base::LogFormat::text : base::LogFormat::json;
    serve.log_level = options.is_debugging ? base::LogLevel::debug : base::LogLevel::info;
    return serve;
}

std::vector<std::string> with_flags_of_dflockd(std::vector<std::string> words) {
    const options::Program program;
    DflockdCommand unused;
    const options::Command command = program.root().add_command("dflockd", "");
    declare_dflockd_options(command, unused);
    const Kinds kinds = kinds_of(command);
    std::vector<std::string> flags(words.begin() + 1, words.end());
    flags = read_go_flags(flags, {.booleans = {kinds.booleans.begin(), kinds.booleans.end()},
                                  .texts = {kinds.texts.begin(), kinds.texts.end()}});
    flags.insert(flags.begin(), words.front());
    return flags;
}

}  // namespace holdfast::app
