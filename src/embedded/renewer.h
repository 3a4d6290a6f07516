#pragma once

// Renewer: renews the locks of all handles.
//
// renewal::Watcher decides when. The renewer sends renewals and does not wait for their answers, so
// a store that does not answer delays nothing else.
//
// Thread safety: everything from any thread, but for start() and stop().

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "core/values/changes.h"
#include "holdfast/lock_handle.h"
#include "renewal/watcher.h"
#include "service/ports/clock.h"

namespace holdfast::embedded {

// One handle's lock. Guarded by the watcher.
struct Hold final : renewal::Hold {
    Hold(const Lock& its_lock, renewal::Pace its_pace);

    const std::chrono::milliseconds duration;  // not guarded
    Lock lock;
};

class Renewer {
  public:
    using Done = std::function<void(const LockResult<Lock>&)>;
    // Renews a lock and calls Done later, on any thread, or never.
    using Renew =
        std::function<void(LockToken token, std::chrono::milliseconds duration, Done done)>;

    // The clock outlives the renewer.
    Renewer(const service::Clock& clock, Renew renew);

    void start() { watcher_.start(); }
    void stop() { watcher_.stop(); }

    // An error if a lock of this duration cannot be renewed with these options.
    [[nodiscard]] static std::optional<LockError> find_fault(const HandleOptions& options,
                                                             std::chrono::milliseconds duration);

    // Renews a lock from now on. REQUIRES: no fault is found in the options.
    [[nodiscard]] LockResult<std::shared_ptr<Hold>> keep(const Lock& lock, HandleOptions options);

    // As renewal::Watcher does it.
    std::optional<LockError> let_go(const std::shared_ptr<Hold>& hold) {
        return watcher_.let_go(hold);
    }

    [[nodiscard]] core::Duration time_left(const Hold& hold) const {
        return watcher_.time_left(hold);
    }
    [[nodiscard]] Lock lock_of(const Hold& hold) const;

    // To be called with every event of the lock table: others may end or shorten a lease.
    void on_event(const core::Event& event);

    // As renewal::Watcher does it. For tests.
    void wake() { watcher_.wake(); }

  private:
    void on_renewed(const std::shared_ptr<Hold>& hold, renewal::Time sent_at,
                    const LockResult<Lock>& result);

    const Renew renew_;
    // Those that are held, by fencing number. Guarded by the watcher.
    std::unordered_map<std::uint64_t, std::shared_ptr<Hold>> holds_;
    renewal::Watcher watcher_;  // last: its thread uses the other members
};

}  // namespace holdfast::embedded
