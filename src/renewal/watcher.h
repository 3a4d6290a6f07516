#pragma once

// Watcher: keeps leases alive, and tells a program when its lease may have ended.
//
// Two parts of libholdfast hold leases for a program: LockHandle (the engine inside the program) and
// LeaseGuard (a server elsewhere). They differ in how a lease is renewed; everything else is here.
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

#include "holdfast/lock_error.h"

namespace holdfast::renewal {

using Duration = std::chrono::microseconds;

// A moment on the clock that a watcher was given.
struct Clock {
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<Clock>;
    static constexpr bool is_steady = true;
};
using Time = Clock::time_point;

// Rounded down: a guarantee ends too early rather than too late.
template <class TimePoint>
[[nodiscard]] Time to_time(TimePoint time) {
    return Time{std::chrono::floor<Duration>(time.time_since_epoch())};
}

// How often a lease is renewed, and how much earlier than the lease its guarantee ends.
struct Pace {
    Duration every{0};
    Duration margin{0};

    // An error if the hold would be lost before its first renewal. `ttl` is the shortest that the
    // lease can have.
    [[nodiscard]] std::optional<LockError> find_fault(Duration ttl) const;
};

// The state of one lease that is kept alive. Guarded by the watcher, but for what says otherwise.
class Hold {
  public:
    enum class State : std::uint8_t { held, lost, let_go };
    using Schedule = std::multimap<Time, std::shared_ptr<Hold>>;

    // The guarantee ends a margin before `expires_at`.
    Hold(Pace its_pace, Time expires_at) : pace(its_pace) {
        guaranteed_until = expires_at - pace.margin;
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    virtual ~Hold() = default;

    const Pace pace;        // not guarded
    std::stop_source stop;  // not guarded; stopped when the hold is lost
    std::function<void(const LockError& loss)> on_lost;

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
    // Called with guard() held. They must not wait.
    struct Actions {
        // Starts a renewal. Its result goes to end_renewal().
        std::function<void(const HoldPointer&, Time now)> renew;
        // The hold was lost or let go.
        std::function<void(Hold&)> on_end;
    };

    // Looks at the clock once per `interval_max` at least.
    Watcher(std::function<Time()> now, Duration interval_max, Actions actions)
        : now_(std::move(now)), interval_max_(interval_max), actions_(std::move(actions)) {}
    ~Watcher() { stop(); }
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    // Throws std::system_error if there is no thread. Not from several threads at once.
    void start();
    void stop();
    [[nodiscard]] bool is_started() const { return thread_.joinable(); }

    [[nodiscard]] std::unique_lock<std::mutex> guard() const { return std::unique_lock(mutex_); }
    [[nodiscard]] Time now() const { return now_(); }

    // Why a lease cannot be held that ends at `expires_at`, if it has ended or nearly.
    [[nodiscard]] std::optional<LockError> find_fault(const Hold& hold, Time expires_at) const;
    // Renews the lease from now on. REQUIRES: guard(); no fault was found.
    void add(const HoldPointer& hold) { schedule(hold); }

    // Stops renewing. Returns why the hold was lost, if it was lost before; then it also waits until
    // the program has been told, unless this call comes from the program's `on_lost`.
    std::optional<LockError> let_go(const HoldPointer& hold);

    [[nodiscard]] Duration time_left(const Hold& hold) const;

    // Ends the renewal that `renew` started; `failure` is empty if it was confirmed. Returns true if
    // the hold is still held; then one of the next three functions must be called.
    // REQUIRES: guard().
    [[nodiscard]] bool end_renewal(const HoldPointer& hold, std::string failure);
    // The lease lasts until `expires_at`. REQUIRES: guard(); the hold is held.
    void confirm(const HoldPointer& hold, Time expires_at, Time renew_at);
    // Renews soon again. REQUIRES: guard(); the hold is held.
    void retry(const HoldPointer& hold);
    // REQUIRES: guard(); the hold is held.
    void lose(const HoldPointer& hold, LockError error);

    // The guarantee ends at `until` if it would end later. REQUIRES: guard(); the hold is held.
    void shorten(const HoldPointer& hold, Time until);

    // Lets the thread look at the clock, which was moved, and returns when it has. For tests.
    void wake();

  private:
    void watch();
    void do_due();
    void look_after(const HoldPointer& hold, Time now);
    void schedule(const HoldPointer& hold);
    void schedule_at(Time time, const HoldPointer& hold);
    void unschedule(Hold& hold);
    void start_telling(const HoldPointer& hold);

    const std::function<Time()> now_;
    const Duration interval_max_;
    const Actions actions_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Hold::Schedule schedule_;  // by the time when a hold must be looked after
    std::condition_variable woken_;
    std::uint64_t wakes_asked_ = 0, wakes_done_ = 0;
    bool is_stopping_ = false;
    std::thread thread_;
};

}  // namespace holdfast::renewal
