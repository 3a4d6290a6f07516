#include "cli/run/supervisor.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/screen/terminal_text.h"
#include "cli/server.h"

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

int exit_code_of(int status) {
    return WIFSIGNALED(status) ? exit_by_signal_base + WTERMSIG(status) : WEXITSTATUS(status);
}

bool is_over(const LockError& error) {
    return std::holds_alternative<LockExpired>(error) ||
           std::holds_alternative<LockNotFound>(error);
}

// Whether we are the job of a shell. If not, nobody would continue us after a stop.
bool is_job() {
    return ::getpgrp() != ::getsid(0);
}

// The command may change its folder.
std::string absolute(const std::string& path) {
    std::error_code ignored;
    const std::string found = std::filesystem::absolute(path, ignored).string();
    return found.empty() ? path : found;
}

// As every command takes them, with blanks between them.
std::string scopes_of(const Lease& lease) {
    std::string text = lease.scope.to_text();
    for (std::size_t index = 1; index < lease.scopes.size(); ++index) {
        text += " " + lease.scopes[index].scope.to_text();
    }
    return text;
}

}  // namespace

CommandLimits limits_of(const Lease& lease, std::chrono::nanoseconds kill_after) {
    const BootTime stop_at = lease.lasts_until - lease.margin();
    // The other half of the margin is for the processes to end, which takes a moment.
    const BootTime kill_at = lease.lasts_until - lease.margin() / 2;
    return {.stop_at = stop_at, .kill_at = std::min(kill_at, stop_at + kill_after)};
}

Supervisor::Supervisor(SupervisorOptions options, Client& client, Keeper& keeper, int signals)
    : options_(std::move(options)),
      client_(client),
      keeper_(keeper),
      signals_(signals),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      waiter_([this] { wait_for_lock(); }) {}

Supervisor::~Supervisor() {
    give_up_.request_stop();
    waiter_.join();
    held_.reset();
    guard_.reset();  // after this, on_lost is not called
    ::close(wake_);
}

void Supervisor::wait_for_lock() {
    const auto on_lost = [this](const GuardLost& loss) {
        const std::lock_guard guard(mutex_);
        loss_ = loss;
        ::eventfd_write(wake_, 1);
    };
    auto held =
        client_.hold(options_.request, options_.wait, {.on_lost = on_lost}, give_up_.get_token());
    const std::lock_guard guard(mutex_);
    held_.emplace(std::move(held));
    ::eventfd_write(wake_, 1);
}

int Supervisor::run() {
    note("waiting for the lock");
    if (options_.wait > milliseconds::zero()) {
        notice_.emplace(AwaitedLock{.server = options_.lease.server,
                                    .locks = options_.lease.names,
                                    .owner = options_.request.holder,
                                    .wait = options_.wait});
    }
    std::array<pollfd, 3> waiting{{{.fd = signals_, .events = POLLIN, .revents = 0},
                                   {.fd = wake_, .events = POLLIN, .revents = 0},
                                   {.fd = keeper_.descriptor(), .events = POLLIN, .revents = 0}}};
    while (!exit_code_) {
        const auto timeout = static_cast<int>(time_to_next_look().count());
        if (::poll(waiting.data(), waiting.size(), timeout) < 0) continue;
        if (waiting[0].revents != 0) look_at_signals();
        if (waiting[1].revents != 0) {
            eventfd_t count = 0;
            ::eventfd_read(wake_, &count);
            look_at_lock();
        }
        if (guard_) look_at_lease();
        if (waiting[2].revents != 0 && !exit_code_) handle_report(keeper_.read());
    }
    return *exit_code_;
}

// Often enough that a renewal reaches the keeper long before its deadline.
milliseconds Supervisor::time_to_next_look() const {
    if (!guard_) return milliseconds{-1};
    return std::clamp(options_.request.ttl / 12, milliseconds{5}, milliseconds{500});
}

void Supervisor::look_at_signals() {
    signalfd_siginfo signal{};
    while (::read(signals_, &signal, sizeof signal) == sizeof signal) {
        handle_signal(static_cast<int>(signal.ssi_signo));
    }
}

void Supervisor::handle_signal(int signal) {
    if (is_running_) return keeper_.forward(signal);
    if (signal == SIGTSTP && is_job()) ::kill(::getpid(), SIGSTOP);
    if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP && signal != SIGQUIT) return;
    cancelling_signal_ = signal;
    give_up_.request_stop();
}

void Supervisor::look_at_lock() {
    const std::unique_lock guard(mutex_);
    if (held_) {
        notice_.reset();
        if (*held_ && cancelling_signal_ == 0) {
            guard_.emplace(std::move(**held_));
            start_command();
        } else if (cancelling_signal_ != 0) {
            end(exit_by_signal_base +
                cancelling_signal_);  // the destructor of held_ releases the lock
        } else {
            end(to_failure(held_->error(), options_.lease.title()));
        }
        if (guard_) held_.reset();
    }
    if (loss_ && !is_lost_) {
        is_lost_ = true;
        fmt::print(stderr, "holdfast: the lock {} is lost: {}; stopping the command\n",
                   escape(options_.lease.title()), escape(to_text(loss_->error)));
        limits_ = limits_of(loss_->lease, options_.kill_after);
        // If somebody else may have the lock already, there is no time for SIGTERM.
        keeper_.stop(is_over(loss_->error) ? BootClock::now() : limits_.kill_at);
    }
}

void Supervisor::start_command() {
    const Lease lease = guard_->lease();
    note(fmt::format("acquired the lock, fencing number {}", lease.fencing_token));
    limits_ = limits_of(lease, options_.kill_after);
    overdue_at_ = lease.lasts_until - lease.margin() / 4;
    std::vector<std::string> environment{
        "HOLDFAST_LEASE_TOKEN=" + lease.token,
        "HOLDFAST_FENCING_TOKEN=" + std::to_string(lease.fencing_token),
        "HOLDFAST_FENCE=" + std::to_string(lease.fencing_token),
        "HOLDFAST_LEASE=" + scopes_of(lease),
        "HOLDFAST_OWNER=" + lease.holder,
        "HOLDFAST_LOCK=" + options_.lease.title(),
        // A command that waits for another lock, while we hold this one, is one with us.
        "HOLDFAST_WAITER=" + options_.request.waiter,
        "HOLDFAST_SERVER=" + options_.lease.server.server,
    };
    if (!options_.lease.server.token_file.empty()) {
        environment.push_back("HOLDFAST_TOKEN_FILE=" + absolute(options_.lease.server.token_file));
    }
    if (!options_.lease.server.ca_file.empty()) {
        environment.push_back("HOLDFAST_CA_FILE=" + absolute(options_.lease.server.ca_file));
    }
    keeper_.start(limits_, environment);
    is_running_ = true;
}

// Tells the keeper about renewals. Kills the keeper if it did not end the command in time.
void Supervisor::look_at_lease() {
    const Lease lease = guard_->lease();
    const CommandLimits limits = limits_of(lease, options_.kill_after);
    if (!is_lost_ && limits.stop_at > limits_.stop_at) {
        limits_ = limits;
        overdue_at_ = lease.lasts_until - lease.margin() / 4;
        keeper_.prolong(limits_);
    }
    if (BootClock::now() < overdue_at_) return;
    is_lost_ = true;
    overdue_at_ = BootTime::max();
    keeper_.kill();
}

void Supervisor::handle_report(const Report& report) {
    switch (report.kind) {
        case ReportKind::failed:
            return end(
                {report.value == ENOENT ? exit_not_found : exit_not_executable,
                 fmt::format("cannot run {}: {}", options_.command, std::strerror(report.value))});
        case ReportKind::stopped: return stop_like_the_command();
        case ReportKind::ended:
            if (!is_lost_ && !report.is_out_of_time) return end(exit_code_of(report.value));
            is_lost_ = true;
            return end(
                {exit_lost, fmt::format("the command was stopped because the lock {} was lost",
                                        options_.lease.title())});
        case ReportKind::gone:
            if (is_lost_) {
                return end(
                    {exit_lost, fmt::format("the command was killed because the lock {} was lost",
                                            options_.lease.title())});
            }
            return end(
                {exit_internal,
                 "the process that guards the command was killed, so the command was killed, too"});
    }
}

// A shell expects that its job stops when the program was stopped by Ctrl-Z. When the shell
// continues us, SIGCONT is passed on to the command. Meanwhile nobody renews the lease; the keeper
// ends the command in time.
void Supervisor::stop_like_the_command() {
    if (!is_job()) return keeper_.forward(SIGCONT);
    ::kill(0, SIGSTOP);
}

void Supervisor::release() {
    if (!guard_ || is_lost_) return;
    const auto released = guard_->release();
    if (released) return note("released the lock");
    fmt::print(stderr,
               "holdfast: {} could not be released; its lease will expire: {}\n"
               "",
               escape(options_.lease.title()), escape(to_text(released.error())));
}

void Supervisor::note(const std::string& text) const {
    if (!options_.is_verbose) return;
    fmt::print(stderr, "holdfast: {}: {}\n", escape(options_.lease.title()), text);
}

}  // namespace holdfast::cli
