#include "cli/run/keeper.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/run/keeper_process.h"
#include "cli/run/process_control.h"

namespace holdfast::cli {

base::Result<Keeper> Keeper::open(KeeperOptions options) {
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return base::fail(std::string("cannot make a socket: ") + std::strerror(errno));
    }
    adopt_orphans();
    const pid_t process = ::fork();
    if (process < 0) {
        const int reason = errno;
        ::close(ends[0]);
        ::close(ends[1]);
        return base::fail(std::string("cannot make a process: ") + std::strerror(reason));
    }
    if (process == 0) {
        ::close(ends[0]);
        ::setpgid(0, 0);  // a signal to the group of `holdfast run` does not reach the keeper
        ::prctl(PR_SET_NAME, "holdfast-keeper");
        KeeperProcess(std::move(options), ends[1]).run();
        ::_exit(EXIT_SUCCESS);
    }
    ::setpgid(process, process);  // in both processes, so that neither continues before it is done
    ::close(ends[1]);
    return Keeper({.process = process, .socket = ends[0]});
}

Keeper::Keeper(Keeper&& other) noexcept
    : process_(std::exchange(other.process_, 0)), socket_(std::exchange(other.socket_, -1)) {}

Keeper::~Keeper() {
    if (process_ <= 0) return;
    ::close(socket_);  // tells the keeper to end
    ::kill(process_, SIGCONT);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    // If the keeper was killed, its descendants are children of this process now.
    constexpr timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
    for (pid_t ended = 0; ended >= 0; ended = ::waitpid(-1, nullptr, WNOHANG)) {
        if (ended > 0) continue;
        signal_descendants(0, SIGKILL);
        ::nanosleep(&pause, nullptr);
    }
}

void Keeper::start(const CommandLimits& limits, const std::vector<std::string>& environment) const {
    std::string more;
    for (const std::string& variable : environment) more += variable + '\0';
    send({.kind = InstructionKind::start, .limits = limits}, more);
}

void Keeper::prolong(const CommandLimits& limits) const {
    send({.kind = InstructionKind::prolong, .limits = limits});
}

void Keeper::stop(BootTime kill_at) const {
    send({.kind = InstructionKind::stop, .limits = {.kill_at = kill_at}});
}

void Keeper::forward(int signal) const {
    send({.kind = InstructionKind::forward, .signal = signal});
}

void Keeper::kill() const {
    ::kill(process_, SIGKILL);
}

// An instruction that does not arrive means that the keeper is gone; read() will report that.
void Keeper::send(const Instruction& instruction, const std::string& more) const {
    std::string message(reinterpret_cast<const char*>(&instruction), sizeof instruction);
    message += more;
    ::send(socket_, message.data(), message.size(), MSG_NOSIGNAL);
}

Report Keeper::read() const {
    Report report;
    ssize_t count = 0;
    do {
        count = ::recv(socket_, &report, sizeof report, 0);
    } while (count < 0 && errno == EINTR);
    return count == static_cast<ssize_t>(sizeof report) ? report : Report{};
}

}  // namespace holdfast::cli
