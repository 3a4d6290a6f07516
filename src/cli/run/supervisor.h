#pragma once

// Supervisor: what `holdfast run` does from the wait for the lock to the release of it.
//
// One thread waits for the lock, and the client's own renew it; this one waits for all of them, for
// signals and for the keeper of the command, and nothing that it does takes long. The order of
// things is what matters: no command without a lease, no release before the command and all that
// came of it are gone, and no way from losing the lease to going on.
//
// Thread safety: none, but for what the two callbacks below share.

#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "cli/lease_options.h"
#include "cli/run/controlling_terminal.h"
#include "cli/run/keeper.h"
#include "holdfast/client.h"

namespace holdfast::cli {

struct SupervisorOptions {
    LeaseRequest request;
    std::chrono::milliseconds wait{0};
    std::chrono::nanoseconds kill_after{0};
    std::string title;     // of the lock
    std::string command;   // its first word
    ServerOptions server;  // as the command shall find it in its environment
    bool is_verbose = false;
};

class Supervisor {
  public:
    // `signals` is a signalfd of all that are for the command.
    Supervisor(SupervisorOptions options, Client& client, Keeper& keeper, int signals);
    ~Supervisor();
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    // The exit code.
    int run();
    // Gives the lock back, if there is something to give back. To be called when the keeper is
    // gone.
    void release();

  private:
    using Held = LockResult<LeaseGuard>;

    void wait_for_lock();
    [[nodiscard]] std::chrono::milliseconds time_to_next_look() const;
    void look_at_signals();
    void take_signal(int signal);
    void look_at_lock();
    void start_command();
    void look_at_lease();
    void take_report(const Report& report);
    void stop_like_the_command();
    void end(int exit_code) { exit_code_ = exit_code; }
    void end(const Failure& failure) { exit_code_ = complain(failure); }
    void note(const std::string& text) const;

    const SupervisorOptions options_;
    Client& client_;
    Keeper& keeper_;
    const int signals_;
    const int wake_;  // an eventfd: one of the following has come
    std::mutex mutex_;
    std::optional<Held> held_;       // under mutex_, until it is taken
    std::optional<GuardLost> loss_;  // under mutex_

    std::stop_source give_up_;
    int cancelling_signal_ = 0;
    bool is_running_ = false;
    bool is_lost_ = false;
    std::optional<LeaseGuard> guard_;
    CommandLimits limits_;
    BootTime overdue_at_ = BootTime::max();  // the keeper should have ended everything by then
    std::optional<int> exit_code_;
    std::jthread waiter_;  // the last: it uses the others
};

// When the command is stopped and killed, if the lease is not renewed any more.
[[nodiscard]] CommandLimits limits_of(const Lease& lease, std::chrono::nanoseconds kill_after);

}  // namespace holdfast::cli
