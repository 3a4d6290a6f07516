#pragma once

// HengdangDoor: what all loops of the file door share: the tree of files, the sessions, the threads
// of the disk, and their access to the lock service.
//
// A lock on a file is a lease on a `path` scope of the engine. Its owner is the name of the
// session. So the lock can be released when the session ends, on whatever connection, and also
// after a restart of the server.
//
// Thread safety: any thread, except for listen_at(), release_locks_of_ended_sessions() and close().
// Lifetime: always in a shared_ptr (see open()): every request owns a share of the door. The server
// that drops its own share lets the door end when the requests that are under way have ended.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/work_pool.h"
#include "doors/hengdang/file_figures.h"
#include "doors/hengdang/http/origins.h"
#include "doors/hengdang/http/own_urls.h"
#include "doors/hengdang/writing/blocking_locks.h"
#include "doors/hengdang/writing/session_locks.h"
#include "files/login/nostr_event.h"
#include "files/login/session_book.h"
#include "files/tree/file_tree.h"
#include "files/tree/path_gates.h"
#include "rights/token_table.h"
#include "service/ports/clock.h"

namespace holdfast::doors::hengdang {

// The options of the operator.
struct HengdangOptions {
    std::string root;
    std::vector<std::string> owner_keys;  // 64 lower-case digits each
    std::vector<std::string> urls;        // of this door, as read_own_url() returns them
    std::vector<std::string> origins;     // of web apps, as read_origin() returns them
    std::uint64_t quota_bytes = 0;        // 0: no limit
    std::uint64_t file_bytes_max = 0;     // 0: no limit
};

// What the door needs. All of it outlives the last turn of the loops.
struct HengdangParts {
    const service::Clock& clock;
    service::Port& port;          // on the executor's thread
    service::Executor& executor;  // of the service
    // Those whose secrets log in without a key.
    const rights::TokenSource& tokens;
    const Origins& origins;
    bool has_tls = false;
};

// ChangeHub: tells the loops that have watchers about every change of the tree.
//
// Thread safety: any thread. A listener is called on the thread that made the change; it must be
// quick and must not call the hub.
class ChangeHub {
  public:
    using Listener = std::function<void(const files::Change&)>;

    // `key` identifies the listener until it is removed.
    void add(const void* key, Listener listener) {
        const std::lock_guard lock(mutex_);
        listeners_[key] = std::move(listener);
    }
    void remove(const void* key) {
        const std::lock_guard lock(mutex_);
        listeners_.erase(key);
    }
    void publish(const files::Change& change) const {
        const std::lock_guard lock(mutex_);
        for (const auto& [key, listener] : listeners_) listener(change);
    }

  private:
    mutable std::mutex mutex_;
    std::map<const void*, Listener> listeners_;
};

class HengdangDoor : public std::enable_shared_from_this<HengdangDoor> {
  public:
    // Opens the tree, and removes the sessions that have expired. Waits for the disk. The door is
    // destroyed on a thread of `grave`, because its destructor waits for the threads of the disk.
    // `grave` outlives the door.
    [[nodiscard]] static base::Result<std::shared_ptr<HengdangDoor>> open(HengdangOptions options,
                                                                          HengdangParts parts,
                                                                          base::WorkPool& grave);

    // Releases the locks of sessions that ended while the files were not served, and calls `then`,
    // perhaps before it returns. Fails if the service does not serve. The locks are free for
    // whoever asks after that. REQUIRES: this is the service's thread, or that does not run yet; no
    // request has come yet.
    void release_locks_of_ended_sessions(std::function<void(const base::Result<void>&)> then);

    // Tells the door its endpoint, from which it knows its own addresses. REQUIRES: no request has
    // come yet.
    void listen_at(const net::Endpoint& endpoint);

    // Lets the threads of the disk finish and end. REQUIRES: the loops have stopped and will not
    // run again; the service still exists.
    void close();

    // Ends the sessions that have expired and releases their locks before it returns. A change that
    // such a session had begun is done by then, or refused. Not on a loop.
    void end_expired_sessions();
    // Does the same on a thread of the disk, if a session has expired. Does not block.
    void tend();

    // Begins a session. The locks of the session whose place it takes, if it takes one, are released
    // when this returns. Not on a loop.
    [[nodiscard]] base::Result<files::SessionBook::NewSession> begin_session(
        const files::NewLogin& login);

    // Ends a session and releases its locks; false if there is no session of this name. A change
    // that the session had begun is done when this returns, or will be refused. Not on a loop. `by`:
    // who asks (rights/asker.h).
    [[nodiscard]] base::Result<bool> log_out(const std::string& name, const std::string& by);
    // The same, by somebody else: observers are told.
    [[nodiscard]] base::Result<bool> end_session(const std::string& name, const std::string& by);

    [[nodiscard]] service::WallTime wall_now() const {
        return parts_.clock.wall(parts_.clock.now());
    }
    [[nodiscard]] std::int64_t wall_now_ms() const {
        const auto now = wall_now().time_since_epoch();
        return std::chrono::floor<std::chrono::milliseconds>(now).count();
    }
    [[nodiscard]] const HengdangOptions& options() const { return options_; }
    // Whose the files are: the server does not remember who has written which file, so it knows only
    // if there is one owner. Empty: it does not know.
    [[nodiscard]] std::string_view files_owner() const {
        return options_.owner_keys.size() == 1 ? std::string_view(options_.owner_keys[0])
                                               : std::string_view();
    }
    [[nodiscard]] const HengdangParts& parts() const { return parts_; }
    [[nodiscard]] const OwnUrls& own_urls() const { return own_urls_; }
    [[nodiscard]] const service::Clock& clock() const { return parts_.clock; }
    [[nodiscard]] files::FileTree& tree() { return *tree_; }
    [[nodiscard]] files::SessionBook& sessions() { return *sessions_; }
    [[nodiscard]] files::UsedEvents& used_events() { return *used_events_; }
    [[nodiscard]] BlockingLocks& locks() { return locks_; }
    [[nodiscard]] WriteHolds& holds() { return holds_; }
    // One commit with a Lock-Token at a time for each path.
    [[nodiscard]] files::PathGates& token_gates() { return token_gates_; }
    [[nodiscard]] LockTimes& times() { return times_; }
    [[nodiscard]] FileCounts& counts() { return counts_; }
    [[nodiscard]] ChangeHub& changes() { return changes_; }
    // Whether browsers reach the door by https: its own, or that of a proxy before it.
    [[nodiscard]] bool is_reached_by_tls() const;
    // Two pools: writes wait for the disk and for one another, and reads should not wait for
    // writes.
    [[nodiscard]] base::WorkPool& readers() { return *readers_; }
    [[nodiscard]] base::WorkPool& writers() { return *writers_; }

    [[nodiscard]] FileFigures figures();

  private:
    HengdangDoor(HengdangOptions options, HengdangParts parts);
    base::Result<void> open_tree();
    struct Sweep;
    void release_locks_after(core::Fence after, const std::shared_ptr<const Sweep>& sweep);
    // Returns the removed sessions, and logs a failure to remove others.
    std::vector<files::Session> remove_expired_sessions();

    const HengdangOptions options_;
    const HengdangParts parts_;
    ChangeHub changes_;
    FileCounts counts_;
    LockTimes times_;
    OwnUrls own_urls_;
    WriteHolds holds_;
    files::PathGates token_gates_;
    BlockingLocks locks_;
    std::unique_ptr<files::FileTree> tree_;
    std::unique_ptr<files::SessionBook> sessions_;
    std::unique_ptr<files::UsedEvents> used_events_;
    std::unique_ptr<base::WorkPool> readers_, writers_;
};

}  // namespace holdfast::doors::hengdang
