#pragma once

// WriteHolds: which requests share a session's lock on a path, and what happens to the lock after
// them.
//
// A write asks for the lock of its session on its path; the session may hold that lock already.
// Several writes of one session may share one lock. The last of them gives the lock back if it was
// acquired for a write (an automatic lock), or if one of the writes has changed the file.
// Otherwise the session has asked for the lock itself and keeps it.
//
// Thread safety: any thread.

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/values/ids.h"

namespace holdfast::doors::hengdang {

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

}  // namespace holdfast::doors::hengdang
