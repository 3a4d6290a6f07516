#include "app/dflockd_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace holdfast::app {

namespace {

// Longer than any server runs, and shorter than what a clock can hold.
constexpr std::chrono::hours for_ever{24 * 366};

// Seconds as dflockd writes them, or with a fraction.
bool parse_seconds(const std::string& text, DflockdCommand::Seconds& value) {
    double seconds = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (fault != std::errc() || end != text.data() + text.size()) return false;
    if (!std::isfinite(seconds) || seconds < 0) return false;
    value = std::min(DflockdCommand::Seconds(seconds), DflockdCommand::Seconds(for_ever));
    return true;
}

// The first of the variables that is set, or the last: they have had other names.
std::string choose_variable(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        if (std::getenv(name.c_str()) != nullptr) return name;
    }
    return names.back();
}

void add_seconds(CLI::App& command, const std::string& flag,
                 const std::vector<std::string>& variables, DflockdCommand::Seconds& value,
                 const std::string& help) {
    const auto parse = [&value](const CLI::results_t& texts) {
        return parse_seconds(texts.back(), value);
    };
    command.add_option(flag, parse, help)
        ->type_name("SECONDS")
        ->default_str(std::to_string(static_cast<int>(value.count())))
        ->envname(choose_variable(variables));
}

void declare_times(CLI::App& command, DflockdCommand& options) {
    add_seconds(command, "--default-lease-ttl", {"DFLOCKD_DEFAULT_LEASE_TTL_S"},
                options.default_lease, "lease of a request that names none");
    add_seconds(command, "--lease-sweep-interval", {"DFLOCKD_LEASE_SWEEP_INTERVAL_S"},
                options.sweep_interval, "taken and ignored: leases end on time");
    add_seconds(command, "--gc-interval", {"DFLOCKD_GC_INTERVAL_S", "DFLOCKD_GC_LOOP_SLEEP"},
                options.idle_interval, "taken and ignored: what is idle goes on time");
    add_seconds(command, "--gc-max-idle", {"DFLOCKD_GC_MAX_IDLE_S", "DFLOCKD_GC_MAX_UNUSED_TIME"},
                options.idle_max, "how long a key that nobody holds or wants is remembered");
    add_seconds(command, "--read-timeout", {"DFLOCKD_READ_TIMEOUT_S"}, options.read_timeout,
                "from the first byte of a request to its last");
    add_seconds(command, "--write-timeout", {"DFLOCKD_WRITE_TIMEOUT_S"}, options.write_timeout,
                "while a client does not take its answers");
    add_seconds(command, "--shutdown-timeout", {"DFLOCKD_SHUTDOWN_TIMEOUT_S"},
                options.shutdown_timeout, "for requests in flight after SIGTERM; 0: any time");
}

void declare_limits(CLI::App& command, DflockdCommand& options) {
    const auto add = [&](const char* flag, const char* variable, std::size_t& value,
                         const char* help) {
        command.add_option(flag, value, help)
            ->envname(variable)
            ->check(CLI::NonNegativeNumber)
            ->capture_default_str();
    };
    add("--max-locks", "DFLOCKD_MAX_LOCKS", options.locks_max, "keys in use; 0: any number");
    add("--max-connections", "DFLOCKD_MAX_CONNECTIONS", options.connections_max,
        "connections at one time; 0: any number");
    add("--max-waiters", "DFLOCKD_MAX_WAITERS", options.waiters_max,
        "who may wait for one key; 0: any number");
}

void declare_secrets(CLI::App& command, DflockdCommand& options) {
    // Their variables are looked at later: a flag for either beats a variable for either.
    command.add_option("--auth-token", options.auth_token,
                       "what clients must show ($DFLOCKD_AUTH_TOKEN); a file is safer");
    command
        .add_option("--auth-token-file", options.auth_token_file,
                    "the same in a file ($DFLOCKD_AUTH_TOKEN_FILE)")
        ->type_name("FILE");
    command.add_option("--tls-cert", options.tls.certificate_file, "speak TLS with this chain")
        ->type_name("FILE")
        ->envname("DFLOCKD_TLS_CERT");
    command.add_option("--tls-key", options.tls.key_file, "the certificate's key")
        ->type_name("FILE")
        ->envname("DFLOCKD_TLS_KEY");
}

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

template <class Number>
Number or_any(Number number, Number any) {
    return number == 0 ? any : number;
}

}  // namespace

void declare_dflockd_options(CLI::App& command, DflockdCommand& options) {
    command.add_option("--host", options.host, "the address to listen on")
        ->envname("DFLOCKD_HOST")
        ->capture_default_str();
    command.add_option("--port", options.port, "the port to listen on; 0: any free port")
        ->envname("DFLOCKD_PORT")
        ->capture_default_str();
    declare_times(command, options);
    declare_limits(command, options);
    command
        .add_flag("--auto-release-on-disconnect,!--no-auto-release-on-disconnect",
                  options.releases_on_disconnect,
                  "release what a connection holds when it closes (as it does unless told "
                  "otherwise)")
        ->envname("DFLOCKD_AUTO_RELEASE_ON_DISCONNECT");
    declare_secrets(command, options);
    command.add_flag("--debug", options.is_debugging, "log more")->envname("DFLOCKD_DEBUG");
    command
        .add_option("--data", options.data_folder,
                    "not dflockd's: a folder that keeps the locks over a restart")
        ->type_name("DIR");
    command
        .add_option("--threads", options.threads, "not dflockd's: threads that serve connections")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    command.footer(
        "The flags and variables (DFLOCKD_PORT, DFLOCKD_MAX_LOCKS, ...) are those of dflockd.\n"
        "Take a lock for a minute by hand:\n"
        "  printf 'l\\nmykey\\n10 60\\n' | nc 127.0.0.1 6388");
}

ServeOptions to_serve_options(const DflockdCommand& options) {
    const auto milliseconds = [](DflockdCommand::Seconds seconds) {
        return std::chrono::ceil<std::chrono::milliseconds>(seconds);
    };
    ServeOptions serve;
    serve.http_address = no_address;
    const bool is_ipv6 = options.host.find(':') != std::string::npos;
    serve.dflockd_address =
        (is_ipv6 ? "[" + options.host + "]" : options.host) + ":" + std::to_string(options.port);
    serve.is_insecure = true;  // dflockd does not ask either; the log will say so
    serve.auth_token = options.auth_token;
    serve.auth_token_file = options.auth_token_file;
    if (serve.auth_token.empty() && serve.auth_token_file.empty()) {
        serve.auth_token = variable("DFLOCKD_AUTH_TOKEN");
        serve.auth_token_file = variable("DFLOCKD_AUTH_TOKEN_FILE");
    }
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

std::vector<std::string> with_two_dashes(std::vector<std::string> words) {
    for (std::string& word : words) {
        const bool is_short = word.size() > 2 && word[0] == '-' && word[1] >= 'a' && word[1] <= 'z';
        if (is_short) word.insert(0, "-");
    }
    return words;
}

}  // namespace holdfast::app
