#pragma once

// SessionBook: who has logged in.
//
// A session is known by its id, 64 digits that are given out once and kept nowhere: what is on disk
// and in memory is their hash. For people, and wherever a session must be spoken of, it has a name,
// the beginning of that hash, which opens nothing. Sessions end by themselves after seven days, or
// when somebody ends them; they outlive the server.
//
// Thread safety: all functions may be called from any thread. find(), list() and next_expiry() do
// not wait for a disk; the others do.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "files/state_folder.h"
#include "service/clock.h"

namespace holdfast::files {

inline constexpr std::chrono::hours session_time{7 * 24};
inline constexpr std::size_t sessions_max_default = 1000;

struct Session {
    std::string name;   // 16 digits
    std::string owner;  // a public key of 64 digits, or whatever let it in
    std::int64_t created_ms = 0;
    std::int64_t expires_ms = 0;

    bool operator==(const Session&) const = default;
};

class SessionBook {
  public:
    // Reads the sessions that `folder` has kept; it outlives the book.
    [[nodiscard]] static base::Result<std::unique_ptr<SessionBook>> open(
        StateFolder& folder, std::size_t sessions_max = sessions_max_default);

    // A new session, whose id nobody will be told again. Fails when there are too many that have
    // neither ended nor expired, or the disk does. REQUIRES: `owner` is printable ASCII.
    struct NewSession {
        std::string id;
        Session session;
    };
    [[nodiscard]] base::Result<NewSession> create(std::string_view owner, service::WallTime now);

    // The session with this id, unless it is over. Nobody learns from the time it takes how much of
    // an id was right.
    [[nodiscard]] std::optional<Session> find(std::string_view id, service::WallTime now) const;

    // Those that are not over, the oldest first.
    [[nodiscard]] std::vector<Session> list(service::WallTime now) const;

    // Ends a session; false if there is none with this name.
    [[nodiscard]] base::Result<bool> end(const std::string& name);

    // Removes those whose time has come and returns them: their locks have to go, too.
    [[nodiscard]] base::Result<std::vector<Session>> remove_expired(service::WallTime now);
    // When the next one's time comes.
    [[nodiscard]] std::optional<service::WallTime> next_expiry() const;

  private:
    struct Entry {
        Session session;
        std::string id_hash;
    };

    SessionBook(StateFolder& folder, base::Descriptor sessions, std::size_t sessions_max)
        : folder_(folder), sessions_(std::move(sessions)), sessions_max_(sessions_max) {}

    [[nodiscard]] base::Result<void> read();
    [[nodiscard]] base::Result<void> remove(const Entry& entry);
    [[nodiscard]] std::size_t count(service::WallTime now) const;

    StateFolder& folder_;
    const base::Descriptor sessions_;
    const std::size_t sessions_max_;

    std::mutex disk_mutex_;                 // one change at a time; taken before the other one
    mutable std::mutex mutex_;              // held for a moment only
    std::map<std::string, Entry> entries_;  // by name
};

}  // namespace holdfast::files
