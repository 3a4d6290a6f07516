// `holdfast serve` and `holdfast dflockd`: the server, from its start to its last signal.

#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "app/commands/commands.h"
#include "app/dflockd/dflockd_command.h"
#include "app/doors.h"
#include "app/host.h"
#include "app/serve_options.h"
#include "app/service_manager.h"
#include "base/log/log.h"
#include "net/loop/loop_timer.h"
#include "service/ports/clock.h"

namespace holdfast::app {

namespace {

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
    for (const std::string& listener : host.describe_listeners('=')) text += " " + listener;
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

// At once, so that a program that reads the first line can read them all.
void say_where(const Host& host, const ServeOptions& options) {
    std::string lines;
    for (const std::string& line : host.describe_listeners()) lines += "listening " + line + "\n";
    say(lines + "data " + where_locks_are(options));
}

// A user who starts the server elsewhere than before would think that the locks are gone.
void warn_of_other_locks(const std::string& overlooked, const ServeOptions& options) {
    if (overlooked.empty()) return;
    base::log(base::LogLevel::warning,
              "another folder has a database that is not used; --data names the folder to use",
              {{"folder", overlooked}, {"used", where_locks_are(options)}});
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

// Says at the start that the system will refuse descriptors before a door is full.
void warn_of_few_descriptors(const ServeOptions& options, std::uint64_t permitted) {
    const std::uint64_t needed = descriptors_needed(options);
    if (permitted >= needed) return;
    base::log(base::LogLevel::warning,
              "the system permits fewer open files than as many connections need",
              {{"permitted", permitted},
               {"needed", needed},
               {"remedy", "LimitNOFILE= of the service, ulimit -n, or --connections-max"}});
}

int serve(const ServeOptions& options) {
    base::set_up_log(options.log_format, options.log_level);
    for (const UnusedVariable& unused : options.unused) {
        base::log(base::LogLevel::warning, "a variable of dflockd has no effect here",
                  {{"variable", unused.name}, {"instead", unused.instead}});
    }
    std::signal(SIGPIPE, SIG_IGN);
    warn_of_few_descriptors(options, raise_descriptor_limit());
    service::SystemClock own_clock;
    service::BoottimeClock node_clock;
    service::Clock& clock = options.cluster.is_on() ? static_cast<service::Clock&>(node_clock)
                                                    : static_cast<service::Clock&>(own_clock);
    const std::string overlooked =
        has_database(options)
            ? overlooked_data_folder(database_file(options),
                                     possible_data_folders(Surroundings::of_this_process()))
            : "";
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
    warn_of_other_locks(overlooked, options);
    say_where(**host, options);
    loop.post([&] { manager.say_ready(describe_doors(**host)); });
    (*host)->run();
    base::log(base::LogLevel::info, "stopped");
    if ((*host)->failure().empty()) return EXIT_SUCCESS;
    base::flush_log();
    std::fprintf(stderr, "holdfast: %s\n", (*host)->failure().c_str());
    return exit_cannot_start;
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

}  // namespace

std::uint64_t raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

cli::Command declare_serve(const options::Command& program) {
    const auto options = std::make_shared<ServeOptions>();
    const options::Command command = program.add_command("serve", "start the lock server");
    declare_serve_options(command, *options);
    return {command, [options] { return serve(*options); }};
}

cli::Command declare_dflockd(const options::Command& program) {
    const auto options = std::make_shared<DflockdCommand>();
    const options::Command command = program.add_command(
        "dflockd", "start the server in place of dflockd, with dflockd's flags");
    declare_dflockd_options(command, *options);
    return {command, [options] { return serve_as_dflockd(*options); }};
}

}  // namespace holdfast::app
