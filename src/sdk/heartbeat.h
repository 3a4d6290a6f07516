#pragma once

// Heartbeat: keeps the leases of all guards of a client.
//
// One thread watches the clock and waits for nobody. Renewals wait for the server, so they are done
// by other threads, which are started as they are needed: a few, since a renewal that gets no
// answer should not hold up all others. A hold that no renewal has confirmed in time is lost,
// whatever the reason, and its program is told on a thread of its own, where it may do as it likes.
//
// A hold is in one of three states: kept, lost, or let go. Lost and let go are final; a
// confirmation that comes when the guarantee has already ended does not bring it back.
//
// Thread safety: everything from any thread. Lifetime: the destructor ends the threads, renewals
// that wait included. REQUIRES: no hold is kept then.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/log/loss_notice.h"
#include "holdfast/lease_guard.h"
#include "sdk/http/answer.h"
#include "sdk/lease_calls.h"

namespace holdfast::sdk {

// The keeping of one guard's lease. Guarded by the heartbeat's mutex, but for what says otherwise.
struct Hold : base::LossNotice<GuardLost> {
    using Schedule = std::multimap<BootClock::time_point, std::shared_ptr<Hold>>;

    explicit Hold(const Lease& kept) : lease(kept) {}

    // Not guarded: fixed from the beginning.
    std::chrono::milliseconds every{0};
    std::chrono::milliseconds extend_by{0};
    std::chrono::milliseconds margin{0};

    Lease lease;
    BootClock::time_point guaranteed_until;  // unless it is lost before
    BootClock::time_point renew_at;
    bool is_renewing = false;  // handed to a worker, not answered
    std::stop_source renewal;  // ends that
    bool is_let_go = false;
    std::string last_failure;  // of a renewal, since the last one that was confirmed
    std::optional<Schedule::iterator> place;
};

class Heartbeat {
  public:
    // Asks the server once, and waits for the answer.
    using Renew = std::function<Answered<Lease>(const Lease& lease, Renewal renewal)>;
    using Now = std::function<BootClock::time_point()>;

    explicit Heartbeat(Renew renew, Now now = BootClock::now);
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

    // What is wrong with the options for a lease of this ttl, if anything.
    [[nodiscard]] static std::optional<LockError> find_fault(const HeartbeatOptions& options,
                                                             std::chrono::milliseconds ttl);

    // Keeps a lease from now on. REQUIRES: no fault is found in the options.
    [[nodiscard]] LockResult<std::shared_ptr<Hold>> keep(const Lease& lease,
                                                         HeartbeatOptions options);

    // Stops keeping it. Why it was lost before, if it was, though nobody has noticed yet; then
    // returns when the program has been told, unless this is who tells it.
    std::optional<LockError> let_go(const std::shared_ptr<Hold>& hold);

    [[nodiscard]] std::chrono::milliseconds time_left(const Hold& hold) const;
    [[nodiscard]] Lease lease_of(const Hold& hold) const;

    // Lets the watcher look at the clock, which was moved, and returns when it has. For tests.
    void wake();
    // Returns when every renewal that was begun has come to its end. For tests.
    void settle();

  private:
    void watch();
    void do_due();
    void look_after(const std::shared_ptr<Hold>& hold, BootClock::time_point now);
    void hand_to_worker(const std::shared_ptr<Hold>& hold);
    void work();
    void renew(const std::shared_ptr<Hold>& hold, std::unique_lock<std::mutex>& guard);
    void on_renewed(const std::shared_ptr<Hold>& hold, const Answered<Lease>& result);
    void schedule(const std::shared_ptr<Hold>& hold);
    void schedule_at(BootClock::time_point time, const std::shared_ptr<Hold>& hold);
    void unschedule(Hold& hold);
    void lose(const std::shared_ptr<Hold>& hold, LockError error);
    void start_telling(const std::shared_ptr<Hold>& hold);

    const Renew renew_;
    const Now now_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;  // for the watcher
    Hold::Schedule schedule_;          // by when they must be looked after
    std::condition_variable due_came_;
    std::deque<std::shared_ptr<Hold>> due_;  // for the workers
    std::size_t idle_ = 0;                   // workers
    std::vector<std::shared_ptr<Hold>> renewing_;
    std::condition_variable woken_;  // for tests
    std::uint64_t wakes_asked_ = 0, wakes_done_ = 0;
    bool is_stopping_ = false;
    std::vector<std::thread> threads_;  // the watcher, then the workers
};

}  // namespace holdfast::sdk
