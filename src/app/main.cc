// The `holdfast` program: reads the command line and starts what it names.

#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "app/config_command.h"
#include "app/dflockd_command.h"
#include "app/host.h"
#include "app/restore_command.h"
#include "app/serve_options.h"
#include "base/log.h"
#include "cli/command.h"
#include "service/clock.h"

namespace holdfast::app {
namespace {

constexpr int exit_cannot_start = 1;

void say(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

// The first signal asks the host to finish; the second does not ask.
void watch_signals(boost::asio::signal_set& signals, Host& host) {
    signals.async_wait([&](const boost::system::error_code& error, int signal) {
        if (error) return;
        base::log(base::LogLevel::info, "shutting down", {{"signal", std::int64_t{signal}}});
        host.shut_down();
        signals.async_wait([](const boost::system::error_code& second_error, int second) {
            if (!second_error) _exit(128 + second);
        });
    });
}

// Tokens and certificates are renewed in their files, and a SIGHUP says when.
void watch_hangups(boost::asio::signal_set& hangups, Host& host) {
    hangups.async_wait([&](const boost::system::error_code& error, int) {
        if (error) return;
        if (const auto reloaded = host.reload()) {
            base::log(base::LogLevel::info, "reloaded");
        } else {
            base::log(base::LogLevel::error, "not reloaded: tokens and certificate stay as before",
                      {{"error", reloaded.error().message}});
        }
        watch_hangups(hangups, host);
    });
}

// A connection takes a descriptor, and what the system permits is far more than it gives unasked.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

void say_where(const Host& host, bool has_tls) {
    if (const net::Endpoint* const http = host.find_http_endpoint()) {
        say((has_tls ? "listening https " : "listening http ") + net::to_text(*http));
    }
    if (const net::Endpoint* const dflockd = host.find_dflockd_endpoint()) {
        say("listening dflockd " + net::to_text(*dflockd));
    }
    if (const net::Endpoint* const files = host.find_files_endpoint()) {
        say("listening files " + net::to_text(*files));
    }
}

int serve(const ServeOptions& options) {
    base::set_up_log(options.log_format, options.log_level);
    std::signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    service::SystemClock clock;
    auto host = Host::start(options, clock);
    if (!host) {
        std::fprintf(stderr, "holdfast: %s\n", host.error().message.c_str());
        return exit_cannot_start;
    }
    boost::asio::signal_set signals((*host)->main_loop().context(), SIGINT, SIGTERM);
    watch_signals(signals, **host);
    boost::asio::signal_set hangups((*host)->main_loop().context(), SIGHUP);
    watch_hangups(hangups, **host);
    say_where(**host, !options.tls.certificate_file.empty());
    (*host)->run();
    base::log(base::LogLevel::info, "stopped");
    return EXIT_SUCCESS;
}

int show_config(const CLI::App& command, const ServeOptions& options, bool is_json) {
    const auto in_force = options_in_force(command);
    std::fputs((is_json ? to_json(in_force) : to_table(in_force)).c_str(), stdout);
    const auto checked = check(options);
    if (checked) return EXIT_SUCCESS;
    std::fprintf(stderr, "holdfast: serve would not start: %s\n", checked.error().message.c_str());
    return exit_cannot_start;
}

int run(std::vector<std::string> words) {
    CLI::App program{"Holdfast: one lock server for everything that must not happen twice at once.",
                     "holdfast"};
    program.set_version_flag("--version", "holdfast " HOLDFAST_VERSION);
    program.require_subcommand(1);
    program.footer("`holdfast serve --help` tells how to start it and how to take the first lock.");
    ServeOptions options;
    CLI::App* const serve_command = program.add_subcommand("serve", "start the lock server");
    declare_serve_options(*serve_command, options);
    DflockdCommand dflockd;
    CLI::App* const dflockd_command =
        program.add_subcommand("dflockd", "start it in the place of a dflockd, with its flags");
    declare_dflockd_options(*dflockd_command, dflockd);
    ServeOptions looked_at;
    bool is_json = false;
    CLI::App* const config_command = program.add_subcommand(
        "config", "show what serve would be told: by flags, variables, a file, or not at all");
    declare_serve_options(*config_command, looked_at);
    config_command->add_flag("--json", is_json, "for programs")->configurable(false);
    RestoreCommand restore;
    CLI::App* const restore_command =
        program.add_subcommand("restore", "put a backup in the place of the database");
    declare_restore_options(*restore_command, restore);
    const cli::Commands commands(program);
    words = commands.take(std::move(words));
    if (!words.empty() && words.front() == "dflockd") words = with_two_dashes(std::move(words));
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    try {
        program.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
        return commands.usage_exit_code(program.exit(error));
    }
    if (restore_command->parsed()) return run_restore(restore);
    if (config_command->parsed()) return show_config(*config_command, looked_at, is_json);
    if (const auto exit_code = commands.run()) return *exit_code;
    return serve(dflockd_command->parsed() ? to_serve_options(dflockd) : options);
}

}  // namespace
}  // namespace holdfast::app

int main(int argument_count, char** arguments) {
    return holdfast::app::run({arguments + 1, arguments + argument_count});
}
