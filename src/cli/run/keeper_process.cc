#include "cli/run/keeper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "cli/run/process_control.h"

namespace holdfast::cli {

namespace {

// A process may be created while the others are killed, so they are killed again.
constexpr std::chrono::milliseconds kill_again_after{5};

// Enough for an instruction and the environment that follows it.
constexpr std::size_t message_bytes_max = 64 * 1024;

int make_signal_descriptor() {
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    return ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

KeeperProcess::KeeperProcess(KeeperOptions options, int socket)
    : options_(std::move(options)),
      socket_(socket),
      keeper_(::getpid()),
      caller_group_(::getpgid(::getppid())),
      signals_(make_signal_descriptor()),
      timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
    adopt_orphans();
}

KeeperProcess::~KeeperProcess() {
    ::close(signals_);
    ::close(timer_);
    ::close(socket_);
}

void KeeperProcess::run() {
    std::array<pollfd, 3> waiting{{{.fd = socket_, .events = POLLIN, .revents = 0},
                                   {.fd = signals_, .events = POLLIN, .revents = 0},
                                   {.fd = timer_, .events = POLLIN, .revents = 0}}};
    while (phase_ != Phase::over) {
        arm_timer();
        if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
        if (waiting[0].revents != 0) {
            read_instruction();
            // `holdfast run` is gone: nothing more will arrive.
            if (phase_ == Phase::killing) waiting[0].fd = -1;
        }
        if (waiting[1].revents != 0) {
            signalfd_siginfo signal{};
            while (::read(signals_, &signal, sizeof signal) > 0) {
            }
        }
        if (command_ > 0) reap();
        look_at_clock();
    }
}

void KeeperProcess::arm_timer() const {
    BootTime at = BootTime::max();
    if (phase_ == Phase::running) at = limits_.stop_at;
    if (phase_ == Phase::stopping) at = limits_.kill_at;
    if (phase_ == Phase::killing) at = BootClock::now() + kill_again_after;
    itimerspec setting{};
    if (at != BootTime::max()) {
        // Zero would switch the timer off.
        const auto since_boot = std::max(at.time_since_epoch(), std::chrono::nanoseconds{1});
        const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
        setting.it_value.tv_sec = seconds.count();
        setting.it_value.tv_nsec = (since_boot - seconds).count();
    }
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &setting, nullptr);
}

void KeeperProcess::look_at_clock() {
    const BootTime now = BootClock::now();
    if (phase_ == Phase::running && now >= limits_.stop_at) {
        is_out_of_time_ = true;
        begin_stopping(limits_.kill_at);
    }
    if (phase_ == Phase::killing || (phase_ == Phase::stopping && now >= limits_.kill_at)) {
        begin_killing();
    }
}

void KeeperProcess::read_instruction() {
    std::array<char, message_bytes_max> bytes;
    const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) return;
    Instruction instruction;
    if (count < static_cast<ssize_t>(sizeof instruction)) {  // `holdfast run` is dead
        if (phase_ == Phase::idle) {
            phase_ = Phase::over;
        } else {
            is_out_of_time_ = true;
            begin_killing();
        }
        return;
    }
    std::copy_n(bytes.data(), sizeof instruction, reinterpret_cast<char*>(&instruction));
    switch (instruction.kind) {
        case InstructionKind::start:
            start(instruction.limits, {bytes.data() + sizeof instruction,
                                       static_cast<std::size_t>(count) - sizeof instruction});
            break;
        case InstructionKind::prolong:
            if (phase_ == Phase::running) limits_ = instruction.limits;
            break;
        case InstructionKind::stop:
            is_out_of_time_ = true;
            if (phase_ == Phase::running) begin_stopping(instruction.limits.kill_at);
            limits_.kill_at = std::min(limits_.kill_at, instruction.limits.kill_at);
            break;
        case InstructionKind::forward: forward(instruction.signal); break;
    }
}

void KeeperProcess::start(const CommandLimits& limits, std::string_view environment) {
    limits_ = limits;
    std::array<int, 2> failures{-1, -1};
    int reason = ::pipe2(failures.data(), O_CLOEXEC) == 0 ? 0 : errno;
    if (reason == 0) {
        command_ = ::fork();
        if (command_ == 0) become_command(environment, failures[1]);
        if (command_ < 0) reason = errno;
        ::close(failures[1]);
        // The pipe stays empty if the command could be executed.
        if (command_ > 0 && ::read(failures[0], &reason, sizeof reason) < 0) reason = errno;
        ::close(failures[0]);
    }
    if (reason == 0) {
        phase_ = Phase::running;
        return;
    }
    if (command_ > 0) ::waitpid(command_, nullptr, 0);
    if (terminal_.is_foreground(command_)) terminal_.put_in_foreground(caller_group_);
    send({.kind = ReportKind::failed, .value = reason});
    phase_ = Phase::over;
}

// The child's side of fork(). Of the handling of signals, only the mask was changed before.
void KeeperProcess::become_command(std::string_view environment, int failures) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != keeper_) ::_exit(EXIT_FAILURE);  // the keeper died before prctl()
    if (options_.takes_terminal_first) terminal_.put_in_foreground(::getpid());
    while (!environment.empty()) {
        const std::string variable(environment.substr(0, environment.find('\0')));
        environment.remove_prefix(variable.size() + 1);
        const auto equals = variable.find('=');
        ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
    }
    std::vector<char*> words;
    for (const std::string& word : options_.command) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    ::sigprocmask(SIG_SETMASK, &options_.command_mask, nullptr);
    ::execvp(words[0], words.data());
    const int reason = errno;
    const ssize_t written = ::write(failures, &reason, sizeof reason);
    ::_exit(written > 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

void KeeperProcess::forward(int signal) const {
    if (phase_ != Phase::running) return;
    // When `holdfast run` is continued in the foreground, the command goes there, too.
    if (signal == SIGCONT && terminal_.is_foreground(caller_group_) &&
        options_.takes_terminal_first) {
        terminal_.put_in_foreground(command_);
    }
    ::kill(-command_, signal);
}

void KeeperProcess::reap() {
    while (true) {
        int status = 0;
        const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED);
        if (pid < 0 && errno == ECHILD && has_ended_) return end();
        if (pid <= 0) break;
        if (pid != command_) continue;
        if (WIFSTOPPED(status)) {
            handle_stop(WSTOPSIG(status));
            continue;
        }
        has_ended_ = true;
        status_ = status;
    }
    if (has_ended_ && phase_ == Phase::running) {
        begin_stopping(std::min(limits_.kill_at, BootClock::now() + options_.kill_after));
    }
}

// The command was stopped by Ctrl-Z, or because it used the terminal from the background.
void KeeperProcess::handle_stop(int signal) {
    if (phase_ != Phase::running) {
        ::kill(-command_, SIGCONT);
        return;
    }
    const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
    if (wants_terminal && terminal_.is_foreground(caller_group_)) {
        terminal_.put_in_foreground(command_);
        ::kill(-command_, SIGCONT);
    } else if (wants_terminal || signal == SIGTSTP) {
        if (terminal_.is_foreground(command_)) terminal_.put_in_foreground(caller_group_);
        send({.kind = ReportKind::stopped, .value = signal});
    }
}

void KeeperProcess::begin_stopping(BootTime kill_at) {
    phase_ = Phase::stopping;
    limits_.kill_at = kill_at;
    if (BootClock::now() >= kill_at) return;
    signal_descendants(command_, SIGTERM);
    signal_descendants(command_, SIGCONT);  // a stopped process gets no SIGTERM before
}

void KeeperProcess::begin_killing() {
    phase_ = Phase::killing;
    signal_descendants(command_, SIGKILL);
}

void KeeperProcess::end() {
    phase_ = Phase::over;
    if (terminal_.is_foreground(command_)) terminal_.put_in_foreground(caller_group_);
    if (WIFSIGNALED(status_)) terminal_.restore_modes();
    send({.kind = ReportKind::ended, .value = status_, .is_out_of_time = is_out_of_time_});
}

void KeeperProcess::send(const Report& report) const {
    ::send(socket_, &report, sizeof report, MSG_NOSIGNAL);
}

}  // namespace holdfast::cli
