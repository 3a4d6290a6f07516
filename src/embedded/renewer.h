#pragma once

// Renewer: the one thread that keeps the locks of all handles.
//
// It sends renewals and does not wait for their answers, so a store that does not answer delays
// nobody's. What it watches is the clock: a hold that no renewal has confirmed in time is lost,
// whatever the reason, and its program is told on a thread of its own, where it may do as it likes.
//
// A hold is in one of three states: kept, lost, or let go. Lost and let go are final; a
// confirmation that comes when the guarantee has already ended does not bring it back.
//
// Thread safety: everything from any thread, but for start() and stop().

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

#include "base/log/loss_notice.h"
#include "core/values/changes.h"
#include "holdfast/lock_handle.h"
#include "service/ports/clock.h"

namespace holdfast::embedded {

// The keeping of one handle's lock. Guarded by the renewer's mutex, but for what says otherwise.
struct Hold : base::LossNotice<LeaseLost> {
    using Schedule = std::multimap<core::Time, std::shared_ptr<Hold>>;

    explicit Hold(const Lock& kept) : duration(kept.duration), lock(kept) {}

    // Not guarded: fixed from the beginning.
    const std::chrono::milliseconds duration;
    core::Duration renew_every{0};
    core::Duration margin{0};

    Lock lock;
    core::Time guaranteed_until;  // unless it is lost before
    core::Time renew_at;
    bool is_renewing = false;  // sent, not answered
    bool is_let_go = false;
    std::string last_failure;  // of a renewal, since the last one that was confirmed
    std::optional<Schedule::iterator> place;
};

class Renewer {
  public:
    using Done = std::function<void(const LockResult<Lock>&)>;
    // Renews a lock and calls Done later, on any thread, or never.
    using Renew =
        std::function<void(LockToken token, std::chrono::milliseconds duration, Done done)>;

    Renewer(const service::Clock& clock, Renew renew) : clock_(clock), renew_(std::move(renew)) {}
    ~Renewer() { stop(); }
    Renewer(const Renewer&) = delete;
    Renewer& operator=(const Renewer&) = delete;

    void start();
    void stop();

    // What is wrong with the options for a lock of this duration, if anything.
    [[nodiscard]] static std::optional<LockError> find_fault(const HandleOptions& options,
                                                             std::chrono::milliseconds duration);

    // Keeps a lock from now on. REQUIRES: no fault is found in the options.
    [[nodiscard]] LockResult<std::shared_ptr<Hold>> keep(const Lock& lock, HandleOptions options);

    // Stops keeping it. Why it was lost before, if it was; then returns when the program has been
    // told, unless this is who tells it.
    std::optional<LockError> let_go(Hold& hold);

    [[nodiscard]] core::Duration time_left(const Hold& hold) const;
    [[nodiscard]] Lock lock_of(const Hold& hold) const;

    // Of every event of the lock table: somebody else may have ended or shortened a lease.
    void on_event(const core::Event& event);

    // Lets happen what is due, now that the clock was moved, and returns when it has. For tests.
    void wake();

  private:
    void run();
    void do_due();
    void look_after(const std::shared_ptr<Hold>& hold, core::Time now);
    void on_renewed(const std::shared_ptr<Hold>& hold, core::Time sent_at,
                    const LockResult<Lock>& result);
    void schedule(const std::shared_ptr<Hold>& hold);
    void schedule_at(core::Time time, const std::shared_ptr<Hold>& hold);
    void unschedule(Hold& hold);
    void lose(const std::shared_ptr<Hold>& hold, LockError error);
    void start_telling(const std::shared_ptr<Hold>& hold);

    const service::Clock& clock_;
    const Renew renew_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Hold::Schedule schedule_;  // by when they must be looked after
    std::unordered_map<std::uint64_t, std::shared_ptr<Hold>>
        holds_;  // kept ones, by fencing number
    std::condition_variable woken_;
    std::uint64_t wakes_asked_ = 0, wakes_done_ = 0;
    bool is_stopping_ = false;
    std::thread thread_;
};

}  // namespace holdfast::embedded
