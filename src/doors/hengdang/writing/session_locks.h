#pragma once

// What the file door remembers about the locks of its sessions, beside the engine.
//
// Thread safety: any thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/values/request.h"

namespace holdfast::doors::hengdang {

// WriteHolds: which requests share a session's lock on a path, and what happens to the lock after
// them.
//
// A write asks for the lock of its session on its path; the session may hold that lock already.
// Several writes of one session may share one lock. The last of them gives the lock back if it was
// acquired for a write (an automatic lock), or if one of the writes has changed the file.
// Otherwise the session has asked for the lock itself and keeps it.
class WriteHolds {
  public:
    struct Key {
        std::string session;
        std::string path;

        auto operator<=>(const Key&) const = default;
    };

    // A write begins and is about to ask for the lock.
    void enter(const Key& key);

    // The write has got the lock. `is_new`: the lock was free before. REQUIRES: after enter().
    void set_lock(const Key& key, const core::Token& token, bool is_new);

    // The session has asked for the lock itself, so the lock is no longer automatic.
    void keep(const Key& key);

    // The write is over. `has_written`: it has changed the file. Returns the lock if this was the
    // last write and the lock is to be given back. REQUIRES: after enter().
    struct LockToRelease {
        core::Token token;
        bool is_automatic = true;
    };
    [[nodiscard]] std::optional<LockToRelease> leave(const Key& key, bool has_written);

    [[nodiscard]] std::size_t size() const;

  private:
    struct Hold {
        std::size_t writes = 0;
        std::optional<core::Token> token;
        bool is_automatic = false;
        bool has_written = false;
    };

    mutable std::mutex mutex_;
    std::map<Key, Hold> holds_;
};

// LockTimes: since when a session has held its lock.
//
// A session that asks again for a lock that it holds starts it again: the protocol resets both
// times of the lock, while for the engine the lease stays the same and only lasts longer. So the
// door remembers when the session asked again, for a limited number of locks. For the others, and
// after a restart, the time is that of the grant.
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
