#pragma once

// SessionBook: the sessions of those who have logged in.
//
// No owner can take all sessions: each has a share, and a login beyond that takes the place of the
// owner's session that was not used for the longest time.
//
// A session is found by its id, 64 digits that are told once and stored nowhere: the disk and the
// memory have only the hash of the id. Logs, listings and locks name a session by the beginning of
// that hash, which gives no access. A session ends by itself after seven days, or when somebody
// ends it; it survives a restart of the server.
//
// A session changes files only between begin_change() and the end of the object that it returns. A
// session that is over cannot begin a change, and end() and remove_expired() return only when the
// changes that had begun are done. So nothing changes in a session's name after its end was
// reported.
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
#include "files/login/permission.h"
#include "service/ports/clock.h"

namespace holdfast::files {

inline constexpr std::chrono::hours session_time{7 * 24};
inline constexpr std::size_t sessions_max_default = 1000;
// The share of one owner in the sessions: a quarter.
inline constexpr std::size_t session_shares = 4;
inline constexpr std::size_t app_name_bytes_max = 128;

struct Session {
    std::string name;   // 16 digits
    std::string owner;  // the public key of 64 digits, or the word for another way in
    std::int64_t created_ms = 0;
    std::int64_t expires_ms = 0;
    Permission permission = Permission::read_write;
    std::int64_t last_used_ms = 0;  // when find() found it last; not on disk
    std::string app_name = {};      // of the program that has logged in; empty: it has not said

    bool operator==(const Session&) const = default;
};

// Somebody who logs in.
struct NewLogin {
    std::string_view owner;  // printable ASCII without blanks
    Permission permission = Permission::read_write;
    std::string app_name = {};  // at most app_name_bytes_max
};

class SessionBook {
  public:
    // Reads the sessions in `folder`, which outlives the book.
    [[nodiscard]] static base::Result<std::unique_ptr<SessionBook>> open(
        StateFolder& folder, std::size_t sessions_max = sessions_max_default);

    // Begins a session. If its owner has no share left, one of the owner's sessions has ended when
    // this returns. Fails when there are too many sessions that are not over, or when the disk fails.
    // REQUIRES: this thread is in no change.
    struct NewSession {
        std::string id;
        Session session;
        std::optional<Session> replaced = {};  // its locks have to be released
    };
    [[nodiscard]] base::Result<NewSession> create(const NewLogin& login, service::WallTime now);

    // The session with this id, unless it is over, and notes that it was used. The time that this
    // takes does not show how much of the id was right.
    [[nodiscard]] std::optional<Session> find(std::string_view id, service::WallTime now);

    // Whether the session with this name is not over.
    [[nodiscard]] bool is_live(const std::string& name, service::WallTime now) const;

    // A change in the name of a session. It lasts as long as this object; the book outlives it.
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

    // The sessions that are not over, the oldest first.
    [[nodiscard]] std::vector<Session> list(service::WallTime now) const;

    // Ends a session; false if there is none with this name. REQUIRES: this thread is in no change.
    [[nodiscard]] base::Result<bool> end(const std::string& name);

    // Removes the sessions that have expired. If the disk fails for one of them, the others are
    // still removed; that one stays in the book and is tried again the next time. REQUIRES: this
    // thread is in no change.
    struct Expired {
        std::vector<Session> removed;        // their locks have to be released
        std::size_t failed_count = 0;        // how many could not be removed
        std::optional<base::Error> failure;  // of the first of these
    };
    [[nodiscard]] Expired remove_expired(service::WallTime now);
    // When the next session expires.
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
    [[nodiscard]] Expired remove_expired_entries(service::WallTime now);
    [[nodiscard]] base::Result<NewSession> begin(const NewLogin& login, service::WallTime now);
    [[nodiscard]] std::optional<Entry> surplus_of(std::string_view owner,
                                                  service::WallTime now) const;
    void end_change(const std::string& name);
    void wait_for_changes(const std::string& name);
    [[nodiscard]] std::size_t count(service::WallTime now) const;

    StateFolder& folder_;
    const base::Descriptor sessions_;
    const std::size_t sessions_max_;

    std::mutex disk_mutex_;                       // one change at a time; locked before mutex_
    mutable std::mutex mutex_;                    // never held while the disk works
    std::map<std::string, Entry> entries_;        // by name
    std::map<std::string, std::size_t> changes_;  // that have begun, by the session's name
    std::condition_variable change_ended_;
};

}  // namespace holdfast::files
