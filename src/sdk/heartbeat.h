#pragma once

// Heartbeat: renews the leases of all guards of a client.
//
// renewal::Watcher decides when. A renewal waits for the server, so renewals are done by worker
// threads. They are started as they are needed: a few, because a renewal that gets no answer must
// not hold up all others.
//
// Thread safety: everything from any thread. Lifetime: the destructor ends the threads, and cancels
// the renewals that wait. REQUIRES: every hold has been lost or let go by then.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "holdfast/lease_guard.h"
#include "renewal/watcher.h"
#include "sdk/http/exchange.h"
#include "sdk/lease_calls.h"

namespace holdfast::sdk {

// One guard's lease. Guarded by the watcher.
struct Hold final : renewal::Hold {
    Hold(const Lease& its_lease, renewal::Pace its_pace);

    Lease lease;
    std::chrono::milliseconds extend_by{0};  // the TTL of every renewal
    std::stop_source renewal;                // cancels the renewal that waits
};

class Heartbeat {
  public:
    // Asks the server once, and waits for the answer.
    using Renew = std::function<Answered<Lease>(const Lease& lease, Renewal renewal)>;
    using Now = std::function<BootClock::time_point()>;

    explicit Heartbeat(Renew renew, const Now& now = BootClock::now);
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

    // An error if a lease of this ttl cannot be renewed with these options.
    [[nodiscard]] static std::optional<LockError> find_fault(const HeartbeatOptions& options,
                                                             std::chrono::milliseconds ttl);

    // Renews a lease from now on. REQUIRES: no fault is found in the options.
    [[nodiscard]] LockResult<std::shared_ptr<Hold>> keep(const Lease& lease,
                                                         HeartbeatOptions options);

    // As renewal::Watcher does it.
    std::optional<LockError> let_go(const std::shared_ptr<Hold>& hold) {
        return watcher_.let_go(hold);
    }

    [[nodiscard]] std::chrono::milliseconds time_left(const Hold& hold) const {
        return std::chrono::floor<std::chrono::milliseconds>(watcher_.time_left(hold));
    }
    [[nodiscard]] Lease lease_of(const Hold& hold) const;

    // Lets the watcher look at the clock, which was moved, and returns when it has. For tests.
    void wake() { watcher_.wake(); }
    // Returns when every renewal that was started has ended. For tests.
    void wait_for_renewals();

  private:
    using Guard = std::unique_lock<std::mutex>;

    void hand_to_worker(const std::shared_ptr<Hold>& hold);
    void work();
    void renew(const std::shared_ptr<Hold>& hold, Guard& guard);
    void on_renewed(const std::shared_ptr<Hold>& hold, const Answered<Lease>& result);

    const Renew renew_;
    renewal::Watcher watcher_;

    // Guarded by the watcher.
    std::condition_variable due_came_;
    std::deque<std::shared_ptr<Hold>> due_;  // for the workers
    std::size_t idle_ = 0;                   // how many workers wait for work
    std::vector<std::shared_ptr<Hold>> renewing_;
    std::condition_variable renewed_;  // for tests
    bool is_stopping_ = false;
    std::vector<std::thread> workers_;
};

}  // namespace holdfast::sdk
