#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "core/values/request.h"

namespace holdfast::doors::hengdang {

// LockTimes: since when a session has its lock.
//
// A session that asks for a lock it has already begins anew: both times of the lock are reset,
// while for the engine the lease is the same as before, only longer. So the door remembers when
// that was, for as many locks as fit; of one that it has forgotten, and after a restart, it tells
// when the lease was granted.
//
// Thread safety: any thread.
class LockTimes {
  public:
    // The lease was asked for again.
    void restart(const core::LeaseView& lease, core::Time now) {
        const std::lock_guard lock(mutex_);
        if (times_.size() >= times_max) times_.clear();
        times_[core::as_number(lease.token.fence)] = now;
    }

    [[nodiscard]] core::Time locked_at(const core::LeaseView& lease) const {
        const std::lock_guard lock(mutex_);
        const auto found = times_.find(core::as_number(lease.token.fence));
        return found == times_.end() ? lease.acquired_at : found->second;
    }

  private:
    static constexpr std::size_t times_max = 10'000;

    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, core::Time> times_;  // by fencing number
};

}  // namespace holdfast::doors::hengdang
