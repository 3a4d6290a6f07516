#pragma once

// Keeper: a small process between `holdfast run` and its command, which ends the command in time.
//
// The process that renews a lease cannot also guard it: if it is stopped (SIGSTOP, a debugger), it
// neither renews the lease nor stops the command. So the command is the child of a second process,
// the keeper, which has no network and no threads, only a deadline. Every renewal moves the deadline.
// When the deadline passes, or `holdfast run` dies, the keeper ends the command and all its
// descendants: its process group, and also processes that have left the group.
//
// The keeper ends when all of them are gone. If the keeper itself is killed, the kernel kills the
// command, and `holdfast run` kills the rest: see ~Keeper.
//
// Thread safety: none.

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "holdfast/boot_clock.h"

namespace holdfast::cli {

using BootTime = BootClock::time_point;

// How long the command may run. It gets SIGTERM at `stop_at` and SIGKILL at `kill_at`.
struct CommandLimits {
    BootTime stop_at = BootTime::max();
    BootTime kill_at = BootTime::max();
};

// `holdfast run` sends instructions to the keeper, and the keeper sends reports back, as the bytes of
// these structs: both are one program.
enum class InstructionKind : std::uint8_t {
    start,    // start the command; its environment follows the instruction
    prolong,  // the command may run for longer
    stop,     // stop the command
    forward   // send a signal to the command
};

struct Instruction {
    InstructionKind kind = InstructionKind::start;
    CommandLimits limits;  // for start, prolong and stop
    int signal = 0;        // for forward
};

enum class ReportKind : std::uint8_t {
    failed,   // the command could not be started; `value` is an errno
    stopped,  // the command was stopped, as by Ctrl-Z; `value` is the signal
    ended,    // the command and all its descendants ended; `value` is its status from waitpid()
    gone      // the keeper ended without a report
};

struct Report {
    ReportKind kind = ReportKind::gone;
    int value = 0;
    bool is_out_of_time = false;  // for ended: because its time was over
};

struct KeeperOptions {
    std::vector<std::string> command;  // the first is looked up in PATH
    // The time between SIGTERM and SIGKILL for descendants that outlive the command.
    std::chrono::nanoseconds kill_after{std::chrono::seconds{5}};
    sigset_t command_mask{};            // the signals that are blocked in the command
    bool takes_terminal_first = false;  // the command starts in the foreground
};

class Keeper {
  public:
    // Starts the keeper, but not the command.
    // REQUIRES: this process has one thread, and SIGTTOU and SIGCHLD are blocked.
    [[nodiscard]] static base::Result<Keeper> open(KeeperOptions options);
    Keeper(Keeper&& other) noexcept;
    Keeper& operator=(Keeper&&) = delete;
    // Kills the command and its descendants, and returns when they are gone.
    ~Keeper();

    // `environment` (NAME=value) is added to that of this process.
    void start(const CommandLimits& limits, const std::vector<std::string>& environment) const;
    void prolong(const CommandLimits& limits) const;
    // Sends SIGTERM to the command now, and SIGKILL at `kill_at`.
    void stop(BootTime kill_at) const;
    void forward(int signal) const;
    // Kills the keeper itself, when it does not do its work (it may be stopped): the kernel kills
    // the command then, and the destructor the rest.
    void kill() const;

    // Readable when there is a report.
    [[nodiscard]] int descriptor() const { return socket_; }
    // Waits for a report. `failed`, `ended` and `gone` are the last one.
    [[nodiscard]] Report read() const;

  private:
    struct Parts {
        pid_t process;
        int socket;
    };
    explicit Keeper(const Parts& parts) : process_(parts.process), socket_(parts.socket) {}
    void send(const Instruction& instruction, const std::string& more = "") const;

    pid_t process_;
    int socket_;
};

}  // namespace holdfast::cli
