// `holdfast run`: runs a command while it holds a lock, and never without. `holdfast elect` does the
// same again and again: it runs a command while it leads an election.

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>

#include "base/result.h"
#include "cli/command.h"
#include "cli/lease_options.h"
#include "cli/run/keeper.h"
#include "cli/run/process_control.h"
#include "cli/run/supervisor.h"
#include "cli/server.h"
#include "options/options.h"
#include "sdk/lease_calls.h"

namespace holdfast::cli {

namespace {

// With a shorter TTL the margin, a sixth of it, is too short for a busy machine.
constexpr std::chrono::milliseconds ttl_min{1'000};

struct RunOptions {
    LeaseOptions lease;
    std::chrono::nanoseconds kill_after{std::chrono::seconds{5}};
    bool is_verbose = false;
    // elect
    std::string value;
    bool is_election = false;
};

Telling telling_of(const RunOptions& options) {
    return options.lease.server.is_json ? Telling::json_on_standard_error : Telling::sentence;
}

// The signals that are passed on to the command, in the order in which they arrive.
sigset_t signals_to_forward() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal :
         {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP}) {
        sigaddset(&signals, signal);
    }
    return signals;
}

bool takes_terminal() {
    const ControllingTerminal terminal;
    return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 &&
           terminal.is_foreground(::getpgrp());
}

// Begins anew, as the same process: with one thread, and with the signals as they were. A signal that
// has come meanwhile ends the process here.
[[noreturn]] void campaign_again(const sigset_t& mask, const RunOptions& options) {
    std::signal(SIGPIPE, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &mask, nullptr);
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv("/proc/self/exe", pointers.data());
    ::_exit(complain({exit_internal, "cannot campaign again: /proc/self/exe cannot be executed"},
                     telling_of(options)));
}

// The signal mask is set and the keeper is started before the client starts threads.
Asked<int> run(const RunOptions& options, const RunWords& all_words) {
    if (!all_words.fault.empty()) return fail(exit_usage, all_words.fault);
    TRY(LeaseRequest request, to_request(options.lease));
    // Another `run` with the same --owner is somebody else; one that our command starts is not.
    if (options.lease.waiter.empty()) request.waiter = sdk::make_holder();
    const std::vector<std::string>& words = all_words.command;
    request.value = options.value;
    if (words.empty()) {
        const std::string name = options.is_election ? "elect " : "run ";
        return fail(exit_usage, "the command to run is missing: holdfast " + name +
                                    options.lease.title() + " command arguments...");
    }
    const bool is_named = options.lease.names.size() == 1 &&
                          std::holds_alternative<LockScope::Named>(request.scope.value());
    if (options.is_election && !is_named) return fail(exit_usage, "an election has one name");
    if (options.lease.ttl < ttl_min) return fail(exit_usage, "--ttl must be at least 1s");

    const sigset_t forwarded = signals_to_forward();
    sigset_t blocked = forwarded;
    sigaddset(&blocked, SIGCHLD);
    sigaddset(&blocked, SIGTTOU);
    KeeperOptions keeper_options{.command = words, .kill_after = options.kill_after};
    ::sigprocmask(SIG_BLOCK, &blocked, &keeper_options.command_mask);
    const sigset_t mask_before = keeper_options.command_mask;
    keeper_options.takes_terminal_first = takes_terminal();
    const int signals = ::signalfd(-1, &forwarded, SFD_CLOEXEC | SFD_NONBLOCK);
    auto opened = Keeper::open(std::move(keeper_options));
    if (!opened) return fail(exit_internal, opened.error().message);
    std::optional<Keeper> keeper(std::move(*opened));

    std::signal(SIGPIPE, SIG_IGN);  // our complaints may have no reader
    TRY(Client client, asked(Client::open(to_client_options(options.lease))));
    Supervisor supervisor({.request = std::move(request),
                           .wait = wait_of(options.lease),
                           .kill_after = options.kill_after,
                           .lease = options.lease,
                           .command = words.front(),
                           .telling = telling_of(options),
                           .is_verbose = options.is_verbose},
                          client, *keeper, signals);
    const int exit_code = supervisor.run();
    keeper.reset();  // after this, no process of the command is left
    ::sigprocmask(SIG_UNBLOCK, &forwarded, nullptr);  // Ctrl-C ends the wait for the release
    supervisor.release();
    std::fflush(nullptr);
    const bool has_no_server = exit_code == exit_unavailable;
    if (options.is_election && (exit_code == exit_lost || has_no_server)) {
        // A server that is away is asked again, but not all the time.
        if (has_no_server) ::sleep(1);
        campaign_again(mask_before, options);
    }
    // A lost lock is not released: that would only take time.
    if (exit_code == exit_lost) ::_exit(exit_code);
    return exit_code;
}

}  // namespace

Command declare_run(const options::Command& program, const CommandWords& words) {
    const auto options = std::make_shared<RunOptions>();
    const options::Command command =
        program.add_command("run", "run a command while it holds locks, and never without them");
    declare_lease_options(command, options->lease);
    command.add_duration(
        "--kill-after", options->kill_after,
        "longest time between SIGTERM and SIGKILL when the command has to be stopped");
    command.add_flag("-v,--verbose", options->is_verbose, "print what happens to the lock");
    command.usage("LOCK [LOCK...] [OPTIONS] -- command arguments...");
    command.footer(
        "Options after the command belong to the command. With one lock, you may leave out the --\n"
        "before the command.\n"
        "\n"
        "Several locks are granted together, or none of them: while one of them is held by "
        "somebody\n"
        "else, `run` waits and holds none. A wait that would never end is refused "
        "(--on-deadlock).\n"
        "\n"
        "The lease is renewed while the command runs. It is released when the command and every\n"
        "process it started have ended. If the lock is lost, they get SIGTERM, and SIGKILL before\n"
        "anybody else can be granted the lock. This is also true if `run` itself is stopped or\n"
        "killed.\n"
        "\n"
        "The command has these variables: HOLDFAST_FENCE (the fencing number; also as\n"
        "HOLDFAST_FENCING_TOKEN), HOLDFAST_LEASE_TOKEN (for `renew` and `unlock`),\n"
        "HOLDFAST_LOCK (as you wrote it), HOLDFAST_LEASE (as `ls` prints it), HOLDFAST_OWNER,\n"
        "HOLDFAST_WAITER (for deadlocks), HOLDFAST_SERVER.\n"
        "\n"
        "The exit code is that of the command (128 + n if signal n ended it), or: 64 the command\n"
        "line is not valid, 69 no server answers, 75 the lock was not granted in time, or never\n"
        "would be, 76 the lock was lost, 77 the server needs a token, 126 the command cannot be\n"
        "executed, 127 there is no such command.\n"
        "\n"
        "  holdfast run nightly rsync -a photos/ backup:\n"
        "  holdfast run deploy --wait 10m --ttl 1m ./deploy.sh production\n"
        "  holdfast run cron-cleanup --try ./cleanup.sh\n"
        "  holdfast run builders --limit 3 make -j4\n"
        "  holdfast run db-a db-b -- ./migrate.sh");
    // The standard output belongs to the command, so failures are told on the other one.
    return {.options = command, .run = [options, words]() -> Asked<int> {
                const auto done = run(*options, *words);
                return done ? *done : complain(done.error(), telling_of(*options));
            }};
}

Command declare_elect(const options::Command& program, const CommandWords& words) {
    const auto options = std::make_shared<RunOptions>();
    options->is_election = true;
    const options::Command command = program.add_command(
        "elect", "run a command while this machine leads an election, and never otherwise");
    command.add_option("election", options->lease.names, "the name of the election").takes("NAME");
    command
        .add_option("--value", options->value,
                    "what everybody is told of the leader, such as its address")
        .takes("TEXT");
    command.add_duration("--ttl", options->lease.ttl,
                         "how long nobody leads when the leader fails");
    command
        .add_option("--owner", options->lease.owner,
                    "name that is shown as the leader. Default: this host and process")
        .takes("TEXT")
        .variable("HOLDFAST_OWNER");
    command.add_option("--metadata", options->lease.metadata, "note that is shown with the lease")
        .takes("TEXT");
    command.add_duration(
        "--kill-after", options->kill_after,
        "longest time between SIGTERM and SIGKILL when the command has to be stopped");
    command.add_flag("-v,--verbose", options->is_verbose, "print what happens to the election");
    declare_server_options(command, options->lease.server);
    command.usage("NAME [OPTIONS] command arguments...");
    command.footer(
        "Options after the command belong to the command. You may write -- before the command.\n"
        "\n"
        "Waits until this machine leads, then runs the command. If it does not lead any more, the\n"
        "command and every process it started get SIGTERM, and SIGKILL before anybody else can\n"
        "lead; then `elect` campaigns again. It ends when the command ends by itself, with its\n"
        "exit code, and somebody else leads. While no server answers, it asks again.\n"
        "\n"
        "The command has the variables of `holdfast run`. `holdfast observe` prints who leads.\n"
        "\n"
        "  holdfast elect scheduler --value \"$(hostname):8000\" ./scheduler\n"
        "  holdfast elect vip --ttl 5s -- ./announce 10.0.0.9");
    return {.options = command, .run = [options, words]() -> Asked<int> {
                const auto done = run(*options, *words);
                return done ? *done : complain(done.error(), telling_of(*options));
            }};
}

}  // namespace holdfast::cli
