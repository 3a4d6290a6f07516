#pragma once

// Supervisor: the work of `holdfast run`, from waiting for the lock to releasing it.
//
// One thread waits for the lock, and threads of the client renew it. This thread waits for those, for
// signals and for the keeper, and never does anything that takes long. It makes sure that
//
//   - the command never runs without a lease,
//   - the lock is released only when the command and all its descendants are gone,
//   - once the lease is lost, the command is stopped.
//
// Thread safety: none, but for the members under mutex_.

#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "cli/lease_options.h"
#include "cli/run/keeper.h"
#include "cli/run/process_control.h"
#include "cli/wait_notice.h"
#include "holdfast/client.h"

namespace holdfast::cli {

struct SupervisorOptions {
    LeaseRequest request;
    std::chrono::milliseconds wait{0};
    std::chrono::nanoseconds kill_after{0};
    LeaseOptions lease;   // as the person has written it
    std::string command;  // the first word of the command
    Telling telling = Telling::sentence;
    bool is_verbose = false;
};

class Supervisor {
  public:
    // `signals` is a signalfd for the signals that are passed on to the command.
    Supervisor(SupervisorOptions options, Client& client, Keeper& keeper, int signals);
    ~Supervisor();
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    // Returns the exit code.
    int run();
    // Releases the lock, if it is held. REQUIRES: the keeper is gone.
    void release();

  private:
    using Held = LockResult<LeaseGuard>;

    void wait_for_lock();
    [[nodiscard]] std::chrono::milliseconds time_to_next_look() const;
    void look_at_signals();
    void handle_signal(int signal);
    void look_at_lock();
    void start_command();
    void look_at_lease();
    void handle_report(const Report& report);
    void stop_like_the_command();
    void end(int exit_code) { exit_code_ = exit_code; }
    void end(const Failure& failure) { exit_code_ = complain(failure, options_.telling); }
    void note(const std::string& text) const;

    const SupervisorOptions options_;
    Client& client_;
    Keeper& keeper_;
    const int signals_;
    const int wake_;  // an eventfd: held_ or loss_ was set
    std::mutex mutex_;
    std::optional<Held> held_;       // under mutex_, until guard_ has it
    std::optional<GuardLost> loss_;  // under mutex_

    std::stop_source give_up_;
    int cancelling_signal_ = 0;
    bool is_running_ = false;
    bool is_lost_ = false;
    std::optional<LeaseGuard> guard_;
    CommandLimits limits_;
    BootTime overdue_at_ = BootTime::max();  // the keeper must have ended the command before
    std::optional<int> exit_code_;
    std::optional<WaitNotice> notice_;  // while the lock is waited for
    std::jthread waiter_;               // last: it uses the others
};

// When the command must be stopped and killed if the lease is not renewed again.
[[nodiscard]] CommandLimits limits_of(const Lease& lease, std::chrono::nanoseconds kill_after);

}  // namespace holdfast::cli
