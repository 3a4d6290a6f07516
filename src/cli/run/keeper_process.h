#pragma once

// KeeperProcess: the inside of the process that keeper.h describes.
//
// Its phases, in this order and never back:
//
//   idle      the command is not started
//   running   the command runs
//   stopping  the command got SIGTERM, or has ended and its descendants got SIGTERM
//   killing   they get SIGKILL, again and again
//   over      nothing is left
//
// Thread safety: none; the process has one thread.

#include <string>
#include <vector>

#include "cli/run/keeper.h"
#include "cli/run/process_control.h"

namespace holdfast::cli {

class KeeperProcess {
  public:
    KeeperProcess(KeeperOptions options, int socket);
    ~KeeperProcess();
    KeeperProcess(const KeeperProcess&) = delete;
    KeeperProcess& operator=(const KeeperProcess&) = delete;

    // Returns when nothing is left and the last report was sent.
    void run();

  private:
    enum class Phase : std::uint8_t { idle, running, stopping, killing, over };

    void arm_timer() const;
    void read_instruction();
    void start(const CommandLimits& limits, std::string_view environment);
    [[noreturn]] void become_command(std::string_view environment, int failures);
    void forward(int signal) const;
    void look_at_clock();
    void reap();
    void handle_stop(int signal);
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
    pid_t command_ = 0;  // also the number of its process group
    bool has_ended_ = false;
    bool is_out_of_time_ = false;
    int status_ = 0;
};

}  // namespace holdfast::cli
