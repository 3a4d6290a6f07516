// The `holdfast` program: reads the command line and starts what it names.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/bench_command.h"
#include "app/commands/config_command.h"
#include "app/commands/dflockd_command.h"
#include "app/commands/reference_command.h"
#include "app/commands/restore_command.h"
#include "app/host.h"
#include "app/serve_options.h"
#include "app/service_manager.h"
#include "base/log/log.h"
#include "cli/command.h"
#include "net/loop/loop_timer.h"
#include "options/options.h"
#include "service/ports/clock.h"

namespace holdfast::app {
namespace {

constexpr int exit_cannot_start = 1;

void say(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

// The first signal asks the host to finish; the second does not ask.
void watch_signals(boost::asio::signal_set& signals, Host& host, const ServiceManager& manager) {
    signals.async_wait([&](const boost::system::error_code& error, int signal) {
        if (error) return;
        base::log(base::LogLevel::info, "shutting down", {{"signal", std::int64_t{signal}}});
        manager.say_stopping();
        host.shut_down();
        signals.async_wait([](const boost::system::error_code& second_error, int second) {
            if (!second_error) _exit(128 + second);
        });
    });
}

// For whoever looks at the state of the service.
std::string describe_doors(const Host& host) {
    std::string text = "serving";
    for (const std::string& line : host.describe_listeners()) {
        const auto blank = line.find(' ');
        text += " " + line.substr(0, blank) + "=" + line.substr(blank + 1);
    }
    return text;
}

// Tokens and certificates are renewed in their files, and a SIGHUP says when.
void watch_hangups(boost::asio::signal_set& hangups, Host& host, const ServiceManager& manager) {
    hangups.async_wait([&](const boost::system::error_code& error, int) {
        if (error) return;
        manager.say_reloading();
        if (const auto reloaded = host.reload()) {
            base::log(base::LogLevel::info, "reloaded");
        } else {
            base::log(base::LogLevel::error, "not reloaded: tokens and certificate stay as before",
                      {{"error", reloaded.error().message}});
        }
        manager.say_ready(describe_doors(host));
        watch_hangups(hangups, host, manager);
    });
}

// A connection takes a descriptor, and what the system permits is far more than it gives unasked.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

void say_where(const Host& host) {
    for (const std::string& line : host.describe_listeners()) say("listening " + line);
}

// Says from the main loop, which owns the locks, that it still goes round.
class Heartbeat {
  public:
    Heartbeat(net::EventLoop& loop, const ServiceManager& manager)
        : manager_(manager), timer_(loop, [this] { beat(); }) {
        if (manager_.alive_interval()) timer_.call_at(net::EventLoop::Clock::now());
    }

  private:
    void beat() {
        manager_.say_alive();
        timer_.call_at(net::EventLoop::Clock::now() + *manager_.alive_interval());
    }

    const ServiceManager& manager_;
    net::LoopTimer timer_;
};

int serve(const ServeOptions& options) {
    base::set_up_log(options.log_format, options.log_level);
    std::signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    service::SystemClock clock;
    auto host = Host::start(options, clock);
    if (!host) {
        base::flush_log();
        std::fprintf(stderr, "holdfast: %s\n", host.error().message.c_str());
        return exit_cannot_start;
    }
    const ServiceManager manager;
    net::EventLoop& loop = (*host)->main_loop();
    boost::asio::signal_set signals(loop.context(), SIGINT, SIGTERM);
    watch_signals(signals, **host, manager);
    boost::asio::signal_set hangups(loop.context(), SIGHUP);
    watch_hangups(hangups, **host, manager);
    const Heartbeat heartbeat(loop, manager);
    say_where(**host);
    loop.post([&] { manager.say_ready(describe_doors(**host)); });
    (*host)->run();
    base::log(base::LogLevel::info, "stopped");
    return EXIT_SUCCESS;
}

int serve_as_dflockd(const DflockdCommand& command) {
    const auto options = to_serve_options(command);
    if (!options) {
        std::fprintf(stderr, "holdfast: %s\n", options.error().message.c_str());
        return exit_cannot_start;
    }
    base::set_up_log(options->log_format, options->log_level);
    for (const std::string& ignored : command.ignored) {
        base::log(base::LogLevel::warning, "an option of dflockd has no effect here",
                  {{"option", ignored}});
    }
    return serve(*options);
}

int show_config(const options::Command& command, const ServeOptions& options, bool is_json) {
    const auto in_force = options_in_force(command);
    std::fputs((is_json ? to_json(in_force) : to_table(in_force)).c_str(), stdout);
    const auto checked = check(options);
    if (checked) return EXIT_SUCCESS;
    std::fprintf(stderr, "holdfast: serve would not start: %s\n", checked.error().message.c_str());
    return exit_cannot_start;
}

// The commands that are the server's; those of its clients are cli's. Options live as long as the
// command that has read them.

cli::Command declare_serve(const options::Command& program) {
    const auto options = std::make_shared<ServeOptions>();
    const options::Command command = program.add_command("serve", "start the lock server");
    declare_serve_options(command, *options);
    return {command, [options] { return serve(*options); }};
}

cli::Command declare_dflockd(const options::Command& program) {
    const auto options = std::make_shared<DflockdCommand>();
    const options::Command command =
        program.add_command("dflockd", "start it in the place of a dflockd, with its flags");
    declare_dflockd_options(command, *options);
    return {command, [options] { return serve_as_dflockd(*options); }};
}

cli::Command declare_config(const options::Command& program) {
    const auto options = std::make_shared<ServeOptions>();
    const auto is_json = std::make_shared<bool>(false);
    const options::Command command = program.add_command(
        "config", "show what serve would be told: by flags, variables, a file, or not at all");
    declare_serve_options(command, *options);
    command.add_flag("--json", *is_json, "for programs").not_in_files();
    command.footer(
        "Takes the options of serve, and exits with 1 if it would not start with them.\n"
        "What a server that is running was told: holdfast status --json");
    return {command, [=] { return show_config(command, *options, *is_json); }};
}

cli::Command declare_restore(const options::Command& program) {
    const auto options = std::make_shared<RestoreCommand>();
    const options::Command command =
        program.add_command("restore", "put a backup in the place of the database");
    declare_restore_options(command, *options);
    return {command, [options] { return run_restore(*options); }};
}

cli::Command declare_bench(const options::Command& program) {
    const auto options = std::make_shared<load::LoadOptions>();
    const options::Command command = program.add_command(
        "bench", "take and release locks of a server, and look whether it keeps its word");
    declare_bench_options(command, *options);
    return {command, [options] {
                raise_descriptor_limit();
                return run_bench(*options);
            }};
}

int run(std::vector<std::string> words) {
    const options::Program parser(
        "holdfast", "Holdfast: one lock server for everything that must not happen twice at once.");
    const options::Command program = parser.root();
    program.version("--version", "holdfast " HOLDFAST_VERSION);
    program.requires_commands(1, 1);
    program.footer(
        "`holdfast serve --help` tells how to start it and how to take the first lock.\n"
        "`holdfast run backup -- ./backup.sh` runs a command while it holds the lock `backup`.");
    const cli::Command own[] = {declare_serve(program), declare_dflockd(program),
                                declare_config(program), declare_restore(program),
                                declare_bench(program)};
    ReferenceCommand reference;
    declare_reference(program, reference);
    const cli::Commands clients(program);
    words = clients.take(std::move(words));
    const bool is_dflockd = !words.empty() && words.front() == "dflockd";
    if (is_dflockd) words = with_flags_of_dflockd(std::move(words));
    if (const auto stop = parser.parse(std::move(words))) {
        const int code = clients.usage_exit_code(stop->show());
        return code != 0 && is_dflockd ? exit_cannot_start : code;
    }
    for (const cli::Command& command : own) {
        if (command.options.is_called()) return command.run();
    }
    if (const auto text = reference_text(program, reference)) {
        std::fputs(text->c_str(), stdout);
        return EXIT_SUCCESS;
    }
    return clients.run().value_or(EXIT_FAILURE);
}

}  // namespace
}  // namespace holdfast::app

int main(int argument_count, char** arguments) {
    return holdfast::app::run({arguments + 1, arguments + argument_count});
}
