#pragma once

// Keeper: a small process between `holdfast run` and its command, that ends the command in time.
//
// Who renews a lease cannot be the one who guards it: a process that is stopped (SIGSTOP, a
// debugger) renews nothing, and stops nobody either. So the command is the child of a second
// process that knows no network and no threads, only a moment on a clock; every renewal puts that
// off. When the moment comes, or `holdfast run` dies, the keeper ends the command and everything
// that came of it: its process group, and by adoption also what has left that.
//
// It ends only when all of them are gone. If it is killed itself, its command is killed by the
// kernel, and the rest falls to `holdfast run`, which adopts, too: see ~Keeper.
//
// Thread safety: none.

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/run/keeper_messages.h"

namespace holdfast::cli {

struct KeeperOptions {
    std::vector<std::string> command;  // the first is looked up in PATH
    // What the command leaves behind when it ends by itself has so long after SIGTERM.
    std::chrono::nanoseconds kill_after{std::chrono::seconds{5}};
    sigset_t command_mask{};            // the signals that are blocked in the command
    bool takes_terminal_first = false;  // the command starts in the foreground
};

class Keeper {
  public:
    // Makes the process; the command is not started yet.
    // REQUIRES: this process has one thread, and SIGTTOU and SIGCHLD are blocked.
    [[nodiscard]] static base::Result<Keeper> open(KeeperOptions options);
    Keeper(Keeper&& other) noexcept;
    Keeper& operator=(Keeper&&) = delete;
    // Kills what is left, whoever is in charge of it by then, and returns when it is gone.
    ~Keeper();

    // `environment`: NAME=value, added to that of this process.
    void start(const CommandLimits& limits, const std::vector<std::string>& environment) const;
    void prolong(const CommandLimits& limits) const;
    // Ends the command: asks it now, and kills it at that time.
    void stop(BootTime kill_at) const;
    void forward(int signal) const;
    // Ends the keeper itself, which must be stopped or worse if it has not done what it was told:
    // the kernel kills its command, and the destructor the rest.
    void kill() const;

    // Readable when there is a report.
    [[nodiscard]] int descriptor() const { return socket_; }
    // Waits for one. After `failed`, `ended` and `gone` there are no more.
    [[nodiscard]] Report read() const;

  private:
    struct Parts {
        pid_t process;
        int socket;
    };
    explicit Keeper(const Parts& parts) : process_(parts.process), socket_(parts.socket) {}
    void send(const Order& order, const std::string& more = "") const;

    pid_t process_;
    int socket_;
};

}  // namespace holdfast::cli
