#pragma once

// SessionBook: who has logged in.
//
// A session is known by its id, 64 digits that are given out once and kept nowhere: what is on disk
// and in memory is their hash. For people, and wherever a session must be spoken of, it has a name,
// the beginning of that hash, which opens nothing. Sessions end by themselves after seven days, or
// when somebody ends them; they outlive the server.
//
// Whatever a session changes, it changes between begin_change() and the end of what that returns.
// A session that is over begins no change, and end() and remove_expired() return when the changes
// that had begun are done: so nothing that a session does lands after its end was told.
//
// Thread safety: all functions may be called from any thread. find(), is_live(), list(),
// begin_change() and next_expiry() do not wait for a disk; the others do.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "files/disk/state_folder.h"
#include "service/ports/clock.h"

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

    // Whether the session with this name is not over.
    [[nodiscard]] bool is_live(const std::string& name, service::WallTime now) const;

    // A change that a session makes, until this object ends; the book outlives it.
    class Change {
      public:
        Change(Change&& other) noexcept
            : book_(std::exchange(other.book_, nullptr)), name_(std::move(other.name_)) {}
        Change& operator=(Change&&) = delete;
        ~Change() {
            if (book_ != nullptr) book_->end_change(name_);
        }

      private:
        friend class SessionBook;
        Change(SessionBook& book, std::string name) : book_(&book), name_(std::move(name)) {}

        SessionBook* book_;
        std::string name_;
    };
    // Nothing if the session is over.
    [[nodiscard]] std::optional<Change> begin_change(const std::string& name,
                                                     service::WallTime now);

    // Those that are not over, the oldest first.
    [[nodiscard]] std::vector<Session> list(service::WallTime now) const;

    // Ends a session; false if there is none with this name. REQUIRES: this thread is in no change.
    [[nodiscard]] base::Result<bool> end(const std::string& name);

    // Removes those whose time has come and returns them: their locks have to go, too. REQUIRES:
    // this thread is in no change.
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
    [[nodiscard]] base::Result<std::vector<Session>> remove_all_expired(service::WallTime now);
    void end_change(const std::string& name);
    void wait_for_changes(const std::string& name);
    [[nodiscard]] std::size_t count(service::WallTime now) const;

    StateFolder& folder_;
    const base::Descriptor sessions_;
    const std::size_t sessions_max_;

    std::mutex disk_mutex_;                 // one change at a time; taken before the other one
    mutable std::mutex mutex_;              // held for a moment only
    std::map<std::string, Entry> entries_;  // by name
    std::map<std::string, std::size_t> changes_;  // that have begun, by the session's name
    std::condition_variable change_ended_;
};

}  // namespace holdfast::files
