// `holdfast bench`: load for a lock server, and a witness that looks whether it keeps its word.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>

#include "app/commands/commands.h"
#include "cli/failure.h"
#include "load/load_run.h"
#include "options/options.h"

namespace holdfast::app {

namespace {

constexpr int exit_broken_word = 1;

// Only for a person: a line that is written over every second.
void show_progress(const load::LoadCounts& counts) {
    if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r{}\x1b[K", load::progress_text(counts));
}

void end_progress() {
    if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\x1b[K");
}

void declare_server(const options::Command& command, load::LoadOptions& options) {
    const std::map<std::string, load::Door> doors{{"lockserver", load::Door::lockserver},
                                                  {"dflockd", load::Door::dflockd},
                                                  {"homelab", load::Door::homelab}};
    const char* const help = "the protocol to use";
    command.add_choice("--door", options.door, doors, help, true)
        .takes("NAME")
        .shows_default("lockserver");
    command.add_choice("--dialect", options.door, doors, help, true).group("");  // its older name
    command
        .add_option("--url,--server", options.url,
                    "the server, for lockserver and homelab: a URL or unix:PATH")
        .takes("URL")
        .variable("HOLDFAST_SERVER")
        .shows_default();
    command
        .add_option("--dflockd", options.dflockd_address,
                    "the server, for dflockd: an IP address or localhost with a port, or unix:PATH")
        .takes("ADDR:PORT")
        .shows_default();
    command
        .add_option("--token-file", options.token_file,
                    "file with the server's token in its first line")
        .takes("FILE")
        .variable("HOLDFAST_TOKEN_FILE");
    command
        .add_option("--ca-file", options.ca_file,
                    "certificates to trust for https, instead of the system's")
        .takes("FILE")
        .variable("HOLDFAST_CA_FILE");
}

void declare_work(const options::Command& command, load::LoadOptions& options) {
    command.add_option("--lock", options.lock, "name of the lock; with --keys, how the names begin")
        .takes("NAME")
        .shows_default();
    command.add_option("--keys", options.keys, "number of locks; each client picks one at random")
        .between(1, 1'000'000, false)
        .takes("NUMBER")
        .shows_default();
    command
        .add_option("--clients", options.clients, "number of clients, each on its own connection")
        .between(1, 10'000, false)
        .takes("NUMBER")
        .shows_default();
    command.add_duration("--duration", options.duration, "how long to run");
    command.add_duration("--ttl", options.ttl,
                         "TTL of the leases; with dflockd, rounded up to whole seconds");
    command.add_duration("--hold", options.hold, "how long a client holds a lock");
    command.add_duration(
        "--jitter", options.jitter,
        "largest random time that is added to --hold, and to the pause after a release");
    command
        .add_option(
            "--failrate", options.fail_rate,
            "probability that a holder pauses until its lease has expired, and then writes anyway")
        .between(0.0, 1.0, false)
        .takes("SHARE")
        .shows_default();
}

void declare_bench_options(const options::Command& command, load::LoadOptions& options) {
    declare_server(command, options);
    declare_work(command, options);
    command.footer(
        "Each client acquires a lock, writes to a resource that refuses old fencing numbers, and\n"
        "releases the lock. A witness checks that no two clients hold a lock at the same time,\n"
        "that fencing numbers grow, and that no stale write is accepted.\n"
        "Exit code: 0 if all of this is true, 1 if not, 69 if no server answers.");
}

// Runs it and prints what came of it.
cli::Asked<int> run_bench(const load::LoadOptions& options) {
    if (options.ttl <= options.ttl.zero()) {
        return cli::fail(cli::exit_usage, "--ttl must be longer than zero");
    }
    const auto result = load::run_load(options, show_progress);
    end_progress();
    if (!result) return cli::fail(cli::exit_unavailable, result.error().message);
    fmt::print("{}\n{}\n{}", load::counts_text(result->counts), load::latency_text(*result),
               load::verdict_text(options, *result));
    if (result->counts.errors > 0) {
        fmt::print(stderr, "holdfast: {} requests failed; the first: {}\n", result->counts.errors,
                   result->first_error);
    }
    for (const std::string& fault : result->faults) fmt::print(stderr, "BROKEN: {}\n", fault);
    if (result->fault_count > 0) {
        return cli::fail(exit_broken_word, fmt::format("the server broke its promises {} times",
                                                       result->fault_count));
    }
    const bool has_answered = result->acquire_latency.count() > 0;
    return has_answered ? cli::exit_success : cli::exit_unavailable;
}

}  // namespace

cli::Command declare_bench(const options::Command& program) {
    const auto options = std::make_shared<load::LoadOptions>();
    const options::Command command =
        program.add_command("bench", "put load on a server and check that it keeps its promises");
    declare_bench_options(command, *options);
    return {command, [options] {
                raise_descriptor_limit();
                return run_bench(*options);
            }};
}

}  // namespace holdfast::app
