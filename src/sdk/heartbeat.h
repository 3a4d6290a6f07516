#pragma once

// Heartbeat: renews the leases of all guards of a client.
//
// renewal::Watcher decides when. A renewal waits for the server, so renewals are done by worker
// threads. They are started as they are needed: a few, because a renewal that gets no answer must
// not hold up all others.
//
// Thread safety: everything from any thread. Lifetime: the destructor ends the threads, and cancels
// the renewals that wait. REQUIRES: every hold has been lost or let go by then.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "renewal/watcher.h"
#include "sdk/http/exchange.h"
#include "sdk/lease_calls.h"

namespace holdfast::sdk {

class Heartbeat {
  public:
    // Asks the server once, and waits for the answer.
    using Renew = std::function<Answered<Lease>(const Lease& lease, Renewal renewal)>;

    explicit Heartbeat(Renew renew, renewal::Watcher::Now now = BootClock::now);
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

    [[nodiscard]] renewal::Watcher& watcher() { return watcher_; }

    // Returns when every renewal that was started has ended. For tests.
    void wait_for_renewals();

  private:
    using Guard = std::unique_lock<std::mutex>;

    void hand_to_worker(const renewal::HoldPointer& hold);
    void work();
    void renew(const renewal::HoldPointer& hold, Guard& guard);

    const Renew renew_;
    renewal::Watcher watcher_;

    // Guarded by the watcher.
    std::condition_variable due_came_;
    std::deque<renewal::HoldPointer> due_;  // for the workers
    std::size_t idle_ = 0;                  // how many workers wait for work
    std::vector<renewal::HoldPointer> renewing_;
    std::condition_variable renewed_;  // for tests
    bool is_stopping_ = false;
    std::vector<std::thread> workers_;
};

}  // namespace holdfast::sdk
