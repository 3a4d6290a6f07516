#include "app/commands/bench_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "cli/duration_option.h"
#include "load/load_run.h"

namespace holdfast::app {

namespace {

constexpr int exit_broken_word = 1;
constexpr int exit_unreachable = 2;

// Only for a person: a line that is written over every second.
void show_progress(const load::LoadCounts& counts) {
    if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r{}\x1b[K", load::progress_text(counts));
}

void end_progress() {
    if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\x1b[K");
}

void declare_server(CLI::App& command, load::LoadOptions& options) {
    const std::map<std::string, load::Dialect> dialects{{"lockserver", load::Dialect::lockserver},
                                                        {"dflockd", load::Dialect::dflockd},
                                                        {"homelab", load::Dialect::homelab}};
    command.add_option("--dialect", options.dialect, "the protocol in which to ask for locks")
        ->transform(CLI::CheckedTransformer(dialects).description("{lockserver,dflockd,homelab}"))
        ->type_name("NAME")
        ->default_str("lockserver");
    command.add_option("--url,--server", options.url, "the server, for lockserver and homelab; unix:PATH is a Unix socket")
        ->type_name("URL")
        ->envname("HOLDFAST_SERVER")
        ->capture_default_str();
    command
        .add_option("--dflockd", options.dflockd_address,
                    "the server, for dflockd: an IP address, or localhost, and a port; or unix:PATH")
        ->type_name("ADDR:PORT")
        ->capture_default_str();
    command
        .add_option("--token-file", options.token_file,
                    "show the token in the first line of FILE to the server")
        ->type_name("FILE")
        ->envname("HOLDFAST_TOKEN_FILE");
    command
        .add_option("--ca-file", options.ca_file,
                    "for https: trust these certificates instead of the system's")
        ->type_name("FILE")
        ->envname("HOLDFAST_CA_FILE");
}

void declare_work(CLI::App& command, load::LoadOptions& options) {
    command.add_option("--lock", options.lock, "the lock; with --keys, how its names begin")
        ->type_name("NAME")
        ->capture_default_str();
    command.add_option("--keys", options.keys, "how many locks there are to choose from")
        ->check(CLI::Range(1, 1'000'000).description(""))
        ->type_name("NUMBER")
        ->capture_default_str();
    command.add_option("--clients", options.clients, "how many ask, each on its own connection")
        ->check(CLI::Range(1, 10'000).description(""))
        ->type_name("NUMBER")
        ->capture_default_str();
    cli::add_duration_option(command, "--duration", options.duration, "how long");
    cli::add_duration_option(command, "--ttl", options.ttl,
                             "the lease that is asked for; with dflockd, whole seconds");
    cli::add_duration_option(command, "--hold", options.hold, "how long a lock is held");
    cli::add_duration_option(command, "--jitter", options.jitter,
                             "up to how much longer, and how long to rest afterwards");
    command
        .add_option("--failrate", options.fail_rate,
                    "the chance that a holder stands still until its lease is over, and writes "
                    "nevertheless")
        ->check(CLI::Range(0.0, 1.0).description(""))
        ->type_name("SHARE")
        ->capture_default_str();
}

}  // namespace

void declare_bench_options(CLI::App& command, load::LoadOptions& options) {
    declare_server(command, options);
    declare_work(command, options);
    command.footer(
        "Clients take a lock, hold it, write to something that remembers the largest fencing\n"
        "number and refuses smaller ones, and give it back. A witness looks whether two ever held\n"
        "the lock at once, numbers grow, and no stale write is accepted.\n"
        "Exit status: 0 if so, 1 if not, 2 if the server cannot be reached.");
}

int run_bench(const load::LoadOptions& options) {
    if (options.ttl <= options.ttl.zero()) {
        fmt::print(stderr, "holdfast: --ttl must be longer than zero\n");
        return exit_unreachable;
    }
    const auto result = load::run_load(options, show_progress);
    end_progress();
    if (!result) {
        fmt::print(stderr, "holdfast: {}\n", result.error().message);
        return exit_unreachable;
    }
    fmt::print("{}\n{}", load::counts_text(result->counts), load::latency_text(*result));
    if (result->counts.errors > 0) {
        fmt::print(stderr, "holdfast: {} requests failed; the first: {}\n", result->counts.errors,
                   result->first_error);
    }
    for (const std::string& fault : result->faults) fmt::print(stderr, "BROKEN: {}\n", fault);
    if (result->fault_count > 0) {
        fmt::print(stderr, "holdfast: the server broke its word {} times\n", result->fault_count);
        return exit_broken_word;
    }
    const bool has_answered = result->acquire_latency.count() > 0;
    return has_answered ? EXIT_SUCCESS : exit_unreachable;
}

}  // namespace holdfast::app
