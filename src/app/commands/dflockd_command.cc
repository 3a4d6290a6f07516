#include "app/commands/dflockd_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "app/commands/go_flags.h"
#include "base/text/number.h"
#include "net/sockets/endpoint.h"
#include "options/options.h"

namespace holdfast::app {

namespace {

// Longer than any server runs, and shorter than what a clock can hold.
constexpr std::chrono::hours for_ever{24 * 366};

// What no version of dflockd refuses to start with, and nothing here stands behind: its HTTP
// server, its signals, its limits by address, and the file that keeps its fencing numbers.
struct IgnoredFlag {
    const char* flag;
    const char* variable;
};
constexpr IgnoredFlag ignored_flags[] = {
    {"--fence-state-file", "DFLOCKD_FENCE_STATE_FILE"},
    {"--http-cors-allowed-origins", "DFLOCKD_HTTP_CORS_ALLOWED_ORIGINS"},
    {"--http-host", "DFLOCKD_HTTP_HOST"},
    {"--http-max-connections-per-ip", "DFLOCKD_HTTP_MAX_CONNECTIONS_PER_IP"},
    {"--http-max-sessions", "DFLOCKD_HTTP_MAX_SESSIONS"},
    {"--http-max-sessions-per-ip", "DFLOCKD_HTTP_MAX_SESSIONS_PER_IP"},
    {"--http-port", "DFLOCKD_HTTP_PORT"},
    {"--http-rate-limit-burst", "DFLOCKD_HTTP_RATE_LIMIT_BURST"},
    {"--http-rate-limit-per-ip", "DFLOCKD_HTTP_RATE_LIMIT_PER_IP"},
    {"--http-session-idle-timeout", "DFLOCKD_HTTP_SESSION_IDLE_S"},
    {"--http-sse-ping-interval", "DFLOCKD_HTTP_SSE_PING_S"},
    {"--max-connections-per-ip", "DFLOCKD_MAX_CONNECTIONS_PER_IP"},
    {"--max-subscriptions", "DFLOCKD_MAX_SUBSCRIPTIONS"},
};

// Not numbers, as dflockd declares its flags.
const GoFlagKinds flag_kinds{
    .booleans = {"auto-release-on-disconnect", "no-auto-release-on-disconnect", "debug", "version"},
    .texts = {"host", "tls-cert", "tls-key", "auth-token", "auth-token-file", "data",
              "fence-state-file", "http-cors-allowed-origins", "http-host"}};

// Seconds as dflockd writes them, or with a fraction.
bool parse_seconds(std::string_view text, DflockdCommand::Seconds& value) {
    if (text.starts_with('+')) text.remove_prefix(1);
    double seconds = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (fault != std::errc() || end != text.data() + text.size()) return false;
    if (!std::isfinite(seconds) || seconds < 0) return false;
    value = std::min(DflockdCommand::Seconds(seconds), DflockdCommand::Seconds(for_ever));
    return true;
}

// A whole number as dflockd writes it in a variable: decimal, with a sign or without.
template <class Number>
bool parse_count(std::string_view text, Number& value) {
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto number = base::parse_decimal<std::uint64_t>(text == "-0" ? "0" : text);
    if (!number || *number > std::numeric_limits<Number>::max()) return false;
    value = static_cast<Number>(*number);
    return true;
}

std::string_view without_sign(std::string_view text) {
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    return text;
}

bool is_whole_number(std::string_view text) {
    text = without_sign(text);
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_number(std::string_view text) {
    DflockdCommand::Seconds value{};
    return parse_seconds(without_sign(text), value);
}

std::string variable(const std::string& name) {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
}

// Lets the option take its value from the first of the variables that is set; they have had other
// names. dflockd 1 ignores a text that is no value for its flag, and so does this.
template <class Test>
void read_variable(const options::Option& option, const std::vector<std::string>& names,
                   DflockdCommand& options, Test is_value) {
    std::string unset;
    for (const std::string& name : names) {
        const std::string text = variable(name);
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

// Declares the options that are numbers.
class Numbers {
  public:
    Numbers(const options::Command& command, DflockdCommand& options)
        : command_(command), options_(options) {}

    void add_seconds(const Flag& flag, DflockdCommand::Seconds& value) {
        const auto parse = [&value](const std::vector<std::string>& texts) {
            return parse_seconds(texts.back(), value);
        };
        const options::Option option =
            command_.add_option(flag.names, parse, flag.help).takes("SECONDS");
        option.shows_default(std::to_string(static_cast<int>(value.count())));
        read_variable(option, flag.variables, options_, is_number);
    }

    template <class Number>
    void add_count(const Flag& flag, Number& value) {
        const auto parse = [&value](const std::vector<std::string>& texts) {
            return parse_count(texts.back(), value);
        };
        const options::Option option =
            command_.add_option(flag.names, parse, flag.help).takes("UINT");
        option.shows_default(std::to_string(value));
        read_variable(option, flag.variables, options_, is_whole_number);
    }

  private:
    const options::Command command_;
    DflockdCommand& options_;
};

void declare_times(Numbers& numbers, DflockdCommand& options) {
    numbers.add_seconds(
        {"--default-lease-ttl", {"DFLOCKD_DEFAULT_LEASE_TTL_S"}, "TTL of a request without one"},
        options.default_lease);
    numbers.add_seconds({"--lease-sweep-interval",
                         {"DFLOCKD_LEASE_SWEEP_INTERVAL_S"},
                         "accepted and ignored: leases end on time here"},
                        options.sweep_interval);
    numbers.add_seconds({"--gc-interval",
                         {"DFLOCKD_GC_INTERVAL_S", "DFLOCKD_GC_LOOP_SLEEP"},
                         "accepted and ignored: idle keys are removed on time here"},
                        options.idle_interval);
    numbers.add_seconds({"--gc-max-idle",
                         {"DFLOCKD_GC_MAX_IDLE_S", "DFLOCKD_GC_MAX_UNUSED_TIME"},
                         "how long an idle key is remembered"},
                        options.idle_max);
    numbers.add_seconds({"--read-timeout",
                         {"DFLOCKD_READ_TIMEOUT_S"},
                         "longest time from the first byte of a request to its last"},
                        options.read_timeout);
    numbers.add_seconds({"--write-timeout",
                         {"DFLOCKD_WRITE_TIMEOUT_S"},
                         "longest time that a client may leave its answers unread"},
                        options.write_timeout);
    numbers.add_seconds({"--shutdown-timeout",
                         {"DFLOCKD_SHUTDOWN_TIMEOUT_S"},
                         "longest time for requests in flight after SIGTERM; 0 means no limit"},
                        options.shutdown_timeout);
}

void declare_limits(Numbers& numbers, DflockdCommand& options) {
    numbers.add_count(
        {"--max-locks", {"DFLOCKD_MAX_LOCKS"}, "largest number of keys in use; 0 means no limit"},
        options.locks_max);
    numbers.add_count({"--max-connections",
                       {"DFLOCKD_MAX_CONNECTIONS"},
                       "largest number of open connections; 0 means no limit"},
                      options.connections_max);
    numbers.add_count({"--max-waiters",
                       {"DFLOCKD_MAX_WAITERS"},
                       "largest number of waiters for one key; 0 means no limit"},
                      options.waiters_max);
}

void declare_secrets(const options::Command& command, DflockdCommand& options) {
    // Their variables are looked at later: a flag for either beats a variable for either.
    command.add_option("--auth-token", options.auth_token,
                       "token that clients must send ($DFLOCKD_AUTH_TOKEN); a file is safer");
    command
        .add_option("--auth-token-file", options.auth_token_file,
                    "file with that token ($DFLOCKD_AUTH_TOKEN_FILE)")
        .takes("FILE");
    command
        .add_option("--tls-cert", options.tls.certificate_file,
                    "use TLS with this certificate chain, in PEM form")
        .takes("FILE")
        .variable("DFLOCKD_TLS_CERT");
    command.add_option("--tls-key", options.tls.key_file, "key of the certificate, in PEM form")
        .takes("FILE")
        .variable("DFLOCKD_TLS_KEY");
}

void declare_ignored(const options::Command& command, DflockdCommand& options) {
    for (const IgnoredFlag& ignored : ignored_flags) {
        const auto note = [&options, flag = ignored.flag](const std::vector<std::string>& texts) {
            const bool is_off = texts.back().empty() || texts.back() == "0";
            if (!is_off) options.ignored.push_back(std::string(flag) + " " + texts.back());
            return true;
        };
        command.add_option(ignored.flag, note, "accepted and ignored")
            .group("Flags of dflockd without effect here")
            .variable(ignored.variable);
    }
}

// `--debug` and the like, which may be given with a value.
void add_flag(const options::Command& command, const Flag& flag, DflockdCommand& options,
              bool& value) {
    const options::Option option = command.add_flag(flag.names, value, flag.help);
    read_variable(option, flag.variables, options, options::is_flag_value);
}

// The address to listen on: of a name, the first IPv4 one, or else the first.
base::Result<std::string> find_address(std::string host, std::uint16_t port) {
    namespace ip = boost::asio::ip;
    if (host.size() > 2 && host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    if (host.empty()) return ":" + std::to_string(port);  // every address there is
    boost::system::error_code error;
    const auto address = ip::make_address(host, error);
    if (!error) return net::to_text(net::Endpoint(address, port));
    boost::asio::io_context context;
    const auto found = ip::tcp::resolver(context).resolve(
        host, std::to_string(port), ip::tcp::resolver::numeric_service, error);
    if (error || found.empty()) {
        return base::fail("--host " + host + " has no address: " + error.message());
    }
    const auto is_v4 = [](const auto& entry) { return entry.endpoint().address().is_v4(); };
    const auto best = std::find_if(found.begin(), found.end(), is_v4);
    return net::to_text(best == found.end() ? found.begin()->endpoint() : best->endpoint());
}

// A secret as dflockd takes it, without the blanks around it, which `auth` drops too.
base::Result<std::string> clean_secret(const std::string& text, std::string_view source) {
    constexpr const char* blanks = " \t\n\v\f\r";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string::npos) return base::fail(fmt::format("{} is blank", source));
    const std::string secret = text.substr(first, text.find_last_not_of(blanks) + 1 - first);
    if (secret.find_first_of("\r\n") != std::string::npos) {
        return base::fail(fmt::format("{} has more than one line", source));
    }
    return secret;
}

// A flag for either beats a variable for either.
base::Result<void> read_secret(const DflockdCommand& options, ServeOptions& serve) {
    std::string secret = options.auth_token;
    std::string_view source = "--auth-token";
    serve.auth_token_file = options.auth_token_file;
    if (secret.empty() && serve.auth_token_file.empty()) {
        secret = variable("DFLOCKD_AUTH_TOKEN");
        source = "DFLOCKD_AUTH_TOKEN";
        serve.auth_token_file = variable("DFLOCKD_AUTH_TOKEN_FILE");
    }
    if (secret.empty()) return {};
    TRY(serve.auth_token, clean_secret(secret, source));
    return {};
}

template <class Number>
Number or_any(Number number, Number any) {
    return number == 0 ? any : number;
}

}  // namespace

void declare_dflockd_options(const options::Command& command, DflockdCommand& options) {
    command.add_option("--host", options.host, "address to listen on")
        .variable("DFLOCKD_HOST")
        .shows_default();
    Numbers numbers(command, options);
    numbers.add_count({"--port", {"DFLOCKD_PORT"}, "port to listen on; 0 is any free port"},
                      options.port);
    declare_times(numbers, options);
    declare_limits(numbers, options);
    add_flag(command,
             {"--auto-release-on-disconnect,!--no-auto-release-on-disconnect",
              {"DFLOCKD_AUTO_RELEASE_ON_DISCONNECT"},
              "release the locks of a connection when it closes (the default)"},
             options, options.releases_on_disconnect);
    declare_secrets(command, options);
    add_flag(command, {"--debug", {"DFLOCKD_DEBUG"}, "log more"}, options, options.is_debugging);
    declare_ignored(command, options);
    command.version("--version", "holdfast " HOLDFAST_VERSION);
    command
        .add_option("--data", options.data_folder,
                    "Holdfast only: folder of the database, in which locks survive a restart")
        .takes("DIR");
    command
        .add_option("--threads", options.threads,
                    "Holdfast only: number of threads that serve connections")
        .between(1, 256)
        .shows_default();
    command.footer(
        "The flags and variables (DFLOCKD_PORT, DFLOCKD_MAX_LOCKS, ...) are those of dflockd.\n"
        "To acquire a lock for a minute by hand:\n"
        "  printf 'l\\nmykey\\n10 60\\n' | nc 127.0.0.1 6388");
    command.last_options_count();
}

base::Result<ServeOptions> to_serve_options(const DflockdCommand& options) {
    const auto milliseconds = [](DflockdCommand::Seconds seconds) {
        return std::chrono::ceil<std::chrono::milliseconds>(seconds);
    };
    ServeOptions serve;
    serve.http_address = no_address;
    TRY(serve.dflockd_address, find_address(options.host, options.port));
    serve.is_insecure = true;  // dflockd does not ask either; the log will say so
    TRY(read_secret(options, serve));
    serve.tls = options.tls;
    serve.data_folder = options.data_folder;
    serve.is_in_memory = options.data_folder.empty();
    serve.threads = options.threads;
    serve.limits.locks_max = or_any(options.locks_max, serve.limits.locks_max);
    serve.limits.waiters_per_lock_max =
        or_any(options.waiters_max, serve.limits.waiters_per_lock_max);
    serve.connections_max =
        or_any(options.connections_max, std::numeric_limits<std::size_t>::max());
    serve.idle_retention = std::chrono::ceil<core::Duration>(options.idle_max);
    serve.dflockd.default_lease = std::chrono::ceil<core::Duration>(options.default_lease);
    serve.dflockd.releases_on_disconnect = options.releases_on_disconnect;
    serve.dflockd_read_timeout = milliseconds(options.read_timeout);
    serve.dflockd_write_timeout = milliseconds(options.write_timeout);
    const bool is_patient = options.shutdown_timeout == DflockdCommand::Seconds::zero();
    serve.shutdown_timeout =
        is_patient ? std::chrono::milliseconds(for_ever) : milliseconds(options.shutdown_timeout);
    serve.log_format = isatty(STDERR_FILENO) == 1 ? base::LogFormat::text : base::LogFormat::json;
    serve.log_level = options.is_debugging ? base::LogLevel::debug : base::LogLevel::info;
    return serve;
}

std::vector<std::string> with_flags_of_dflockd(std::vector<std::string> words) {
    std::vector<std::string> flags(words.begin() + 1, words.end());
    flags = read_go_flags(flags, flag_kinds);
    flags.insert(flags.begin(), words.front());
    return flags;
}

}  // namespace holdfast::app
