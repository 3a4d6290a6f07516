#pragma once

// KeeperProcess: the inside of the process that keeper.h tells of.
//
// It goes through these phases, never back: nothing is started yet; the command is running; it was
// asked to end; it is being killed. The command's own end leads to the third, for what it leaves
// behind, and it is over when nothing is left.
//
// Thread safety: none; it is alone in its process.

#include <string>
#include <vector>

#include "cli/run/controlling_terminal.h"
#include "cli/run/keeper.h"

namespace holdfast::cli {

class KeeperProcess {
  public:
    KeeperProcess(KeeperOptions options, int socket);
    ~KeeperProcess();
    KeeperProcess(const KeeperProcess&) = delete;
    KeeperProcess& operator=(const KeeperProcess&) = delete;

    // Returns when it is over, and whoever listens has been told how it ended.
    void run();

  private:
    enum class Phase : std::uint8_t { idle, running, stopping, killing, over };

    void arm_timer() const;
    void take_order();
    void start(const CommandLimits& limits, std::string_view environment);
    [[noreturn]] void become_command(std::string_view environment, int failures);
    void forward(int signal) const;
    void look_at_clock();
    void reap();
    void see_stopped(int signal);
    void begin_stopping(BootTime kill_at);
    void begin_killing();
    void end();
    void send(const Report& report) const;

    const KeeperOptions options_;
    const int socket_;
    const pid_t keeper_;  // this process
    const pid_t caller_group_;
    const ControllingTerminal terminal_;
    int signals_;
    int timer_;

    Phase phase_ = Phase::idle;
    CommandLimits limits_;
    pid_t command_ = 0;  // and its process group
    bool has_ended_ = false;
    bool is_out_of_time_ = false;
    int status_ = 0;
};

}  // namespace holdfast::cli
