#pragma once

// Watcher: keeps leases alive, and tells a program when its lease may have ended.
//
// One thread watches the clock and waits for nobody. When a renewal is due, it calls `renew`, which
// starts the renewal and returns at once. If no renewal is confirmed in time, the hold is lost,
// whatever the reason, and the program is told on a thread of its own, where it may block.
//
// A hold is in one of three states:
//
//   held ──► lost       the guarantee ended, or the lease did: `loss` says why
//   held ──► let_go     the program does not want it any more
//
// Lost and let go are final. A renewal that is confirmed after the guarantee has ended does not
// bring the hold back.
//
// Thread safety: everything from any thread. One mutex guards the holds; functions marked
// REQUIRES: guard() are called while the caller has it.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>

#include "holdfast/lease_guard.h"

namespace holdfast::renewal {

using Duration = BootClock::duration;
using Time = BootClock::time_point;

// Whether the error says that the lease has ended. Otherwise it may last.
[[nodiscard]] bool is_over(const LockError& error);

// How a lease is renewed, and how much earlier than the lease its guarantee ends.
struct Pace {
    std::chrono::milliseconds every{0};
    std::chrono::milliseconds extend_by{0};  // the TTL of every renewal
    std::chrono::milliseconds margin{0};

    // The pace of a lease with this ttl.
    [[nodiscard]] static Pace of(const HeartbeatOptions& options, std::chrono::milliseconds ttl);

    // An error if a lease with this ttl would be lost before its first renewal.
    [[nodiscard]] std::optional<LockError> find_fault(std::chrono::milliseconds ttl) const;
};

// The state of one lease that is kept alive. Guarded by the watcher, but for what says otherwise.
class Hold {
  public:
    enum class State : std::uint8_t { held, lost, let_go };
    using Schedule = std::multimap<Time, std::shared_ptr<Hold>>;

    Hold(const Lease& its_lease, HeartbeatOptions options);
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    const Pace pace;           // not guarded
    std::stop_source stop;     // not guarded; stopped when the hold is lost
    std::stop_source renewal;  // stopped when the hold is lost or let go: cancels a renewal
    std::function<void(const GuardLost&)> on_lost;

    Lease lease;  // as last renewed
    State state = State::held;
    Time guaranteed_until;  // unless the hold is lost before
    Time renew_at;
    bool is_renewing = false;  // a renewal was started and has not ended
    std::string last_failure;  // of a renewal, since the last one that was confirmed
    std::optional<LockError> loss;
    std::optional<Schedule::iterator> position;  // in the watcher's schedule

  private:
    friend class Watcher;

    void tell();
    void wait_until_told() const;

    std::atomic<bool> is_told_{false};
    std::atomic<std::thread::id> teller_{};
};
using HoldPointer = std::shared_ptr<Hold>;

class Watcher {
  public:
    using Now = std::function<Time()>;
    // Starts a renewal for `pace.extend_by`, and does not wait. The result goes to end_renewal().
    // Called with guard() held.
    using Renew = std::function<void(const HoldPointer&, Time now)>;

    Watcher(Now now, Renew renew) : now_(std::move(now)), renew_(std::move(renew)) {}
    ~Watcher() { stop(); }
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    // Ends the thread. REQUIRES: no other call is under way that starts it.
    void stop();

    [[nodiscard]] std::unique_lock<std::mutex> guard() const { return std::unique_lock(mutex_); }
    [[nodiscard]] Time now() const { return now_(); }

    // Renews a lease from now on. The first call starts the thread.
    [[nodiscard]] LockResult<HoldPointer> keep(const Lease& lease, HeartbeatOptions options);

    // Stops renewing. Returns why the hold was lost, if it was lost before; then it also waits until
    // the program has been told, unless this call comes from the program's `on_lost`.
    std::optional<LockError> let_go(const HoldPointer& hold);
    std::optional<LockError> let_go_without_waiting(const HoldPointer& hold);

    [[nodiscard]] Duration time_left(const Hold& hold) const;
    [[nodiscard]] Lease lease_of(const Hold& hold) const;

    // Ends the renewal that `renew` started. The `lasts_until` of the result is counted from before
    // the request was sent. REQUIRES: guard().
    void end_renewal(const HoldPointer& hold, const LockResult<Lease>& result);

    // Somebody else has ended the lease with this fencing token, or renewed it: perhaps it ends
    // earlier now.
    void on_ended(std::uint64_t fencing_token);
    void on_renewed(std::uint64_t fencing_token, Time lasts_until);

    // Lets the thread look at the clock, which was moved, and returns when it has. For tests.
    void wake();

  private:
    void watch();
    void do_due();
    void look_after(const HoldPointer& hold, Time now);
    void lose(const HoldPointer& hold, LockError error);
    void shorten(const HoldPointer& hold, Time lasts_until);
    void schedule(const HoldPointer& hold);
    void schedule_at(Time time, const HoldPointer& hold);
    void end(Hold& hold, Hold::State state);
    void unschedule(Hold& hold);
    void start_telling(const HoldPointer& hold);
    [[nodiscard]] HoldPointer find(std::uint64_t fencing_token) const;

    const Now now_;
    const Renew renew_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::unordered_map<std::uint64_t, HoldPointer> holds_;  // those that are held, by fencing token
    Hold::Schedule schedule_;  // by the time when a hold must be looked after
    std::condition_variable woken_;
    std::uint64_t wakes_asked_ = 0, wakes_done_ = 0;
    bool is_stopping_ = false;
    std::thread thread_;
};

}  // namespace holdfast::renewal
