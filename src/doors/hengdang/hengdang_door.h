#pragma once

// HengdangDoor: what all loops of the file door share: the tree, who has logged in, the threads
// that work on the disk, and the way from these to the locks.
//
// A lock on a file is a lease on a `path` scope of the one engine. Its owner is the session's name,
// so that it can be given back when the session ends, whichever connection that comes from, or
// when a server finds it after a restart.
//
// Thread safety: any thread, but for open(), listen_at() and close().
// Lifetime: outlives the loops, because what was posted to them may hold uploads until they go.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/work_pool.h"
#include "doors/hengdang/change_hub.h"
#include "doors/hengdang/file_figures.h"
#include "doors/hengdang/http/own_urls.h"
#include "doors/hengdang/lock_times.h"
#include "doors/hengdang/writing/blocking_locks.h"
#include "doors/hengdang/writing/write_holds.h"
#include "files/login/session_book.h"
#include "files/login/used_events.h"
#include "files/tree/file_tree.h"
#include "files/tree/path_gates.h"
#include "service/ports/clock.h"

namespace holdfast::doors::hengdang {

// What the operator may choose.
struct HengdangOptions {
    std::string root;
    std::vector<std::string> owner_keys;  // 64 lower-case digits each
    std::vector<std::string> urls;        // of this door, as read_own_url() returns them
    std::uint64_t quota_bytes = 0;        // 0: no limit
    std::uint64_t file_bytes_max = 0;     // 0: no limit
};

// What the door is made of. All of it outlives the loops' last turn.
struct HengdangParts {
    const service::Clock& clock;
    service::Port& port;          // on the executor's thread
    service::Executor& executor;  // the service's
    // Whether this is the secret that logs in without a key. Any thread.
    std::function<bool(std::string_view)> is_secret;
    bool has_tls = false;
};

class HengdangDoor {
  public:
    // Opens the tree, and gives back the locks whose sessions have ended since. REQUIRES: the
    // service has recovered, and its thread does not run yet, or is this one.
    [[nodiscard]] static base::Result<std::unique_ptr<HengdangDoor>> open(HengdangOptions options,
                                                                          HengdangParts parts);

    // Where the door is, by which it knows its own addresses. REQUIRES: no request has come yet.
    void listen_at(const net::Endpoint& endpoint);

    // Lets the disk's threads finish and end. REQUIRES: the loops have stopped, and will not run
    // again; the service is still there.
    void close();

    // Ends the sessions whose time has come, and gives back their locks, before it returns. What
    // such a session was changing is done then, or refused. Not on a loop.
    void end_expired_sessions();
    // The same on a thread of its own. Waits for nothing.
    void tend();

    // Ends a session and gives back its locks. False if there is none of this name. What the
    // session was changing is done when this returns, or will be refused. Not on a loop.
    [[nodiscard]] base::Result<bool> end_session(const std::string& name);

    [[nodiscard]] service::WallTime wall_now() const {
        return parts_.clock.wall(parts_.clock.now());
    }
    [[nodiscard]] const HengdangOptions& options() const { return options_; }
    [[nodiscard]] const HengdangParts& parts() const { return parts_; }
    [[nodiscard]] const OwnUrls& own_urls() const { return own_urls_; }
    [[nodiscard]] const service::Clock& clock() const { return parts_.clock; }
    [[nodiscard]] files::FileTree& tree() { return *tree_; }
    [[nodiscard]] files::SessionBook& sessions() { return *sessions_; }
    [[nodiscard]] files::UsedEvents& used_events() { return *used_events_; }
    [[nodiscard]] BlockingLocks& locks() { return locks_; }
    [[nodiscard]] WriteHolds& holds() { return holds_; }
    // One commit under a Lock-Token at a time for each path.
    [[nodiscard]] files::PathGates& token_gates() { return token_gates_; }
    [[nodiscard]] LockTimes& times() { return times_; }
    [[nodiscard]] FileCounts& counts() { return counts_; }
    [[nodiscard]] ChangeHub& changes() { return changes_; }
    // Those who write wait for disks and for each other; those who read should not wait for them.
    [[nodiscard]] base::WorkPool& readers() { return *readers_; }
    [[nodiscard]] base::WorkPool& writers() { return *writers_; }

    [[nodiscard]] FileFigures figures();

  private:
    HengdangDoor(HengdangOptions options, HengdangParts parts);
    base::Result<void> open_tree();
    void give_back_left_locks();
    // Those that could be removed; the log has the others.
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
