#pragma once

// Store: where leases and fences survive a restart.
//
// The service decides in memory and hands the store one commit after the other. Nobody is told of a
// change before the store has said that its commit is done.
//
// A store does not have to be a file of this machine. It may be shared by several servers of which
// one serves at a time. Three parts of the interface exist for such a store, and an SQLite file or
// memory needs none of them:
//   - a result may be *unknown*: the request was sent, and no answer came back;
//   - the server may be *deposed*: another server has the store now;
//   - the right to answer from memory may end at a time: the *authority deadline*.
//
// What the service does after a commit:
//
//   the result    what it means                           the service
//   done          it is written                           answers those who wait for this commit
//   not_done      nothing is written                      answers them with the failure, refuses
//                                                         everything, and recovers a second later
//   unknown       it is written as a whole, in part,      refuses everything, recovers, and then
//                 or not                                  answers those who waited: it is unknown
//                                                         whether their request was done
//   deposed       it is written or not; another server    answers everybody with the failure, and
//                 has the store                           refuses everything until its owner calls
//                                                         recover() again
//
// After a failure the service has more in memory than the store has. So it drops the lock table and
// begins anew with what recover() finds. A server that was deposed may recover, too: if the store
// can be had again, recover() waits until it is this server's turn, perhaps for ever.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"
#include "core/values/changes.h"
#include "core/values/request.h"
#include "service/books/fence.h"
#include "service/commit_number.h"
#include "service/history/hold.h"

namespace holdfast::service {

// Why a store could not do what was asked.
struct StoreFailure {
    // Of a commit: in the words of the table above. Of a recovery: `deposed`, or any other if it
    // may be tried again.
    enum class Kind : std::uint8_t { not_done, unknown, deposed };

    Kind kind = Kind::not_done;
    bool is_busy = false;  // another program has the store locked at the moment
    std::string message;   // a sentence for people
};

template <class T>
using StoreResult = tl::expected<T, StoreFailure>;

// What a store remembered.
struct Recovered {
    std::size_t leases = 0;
    std::uint64_t next_fence = 1;  // larger than every number that was committed or reserved
    std::vector<FenceMark> fences;
};

// Whether the lease that the store has read makes sense.
using OnRecoveredLease = std::function<bool(const core::RestoreRequest&)>;
using RecoverDone = std::function<void(StoreResult<Recovered>)>;
using HistoryDone = std::function<void(StoreResult<HistoryPage>)>;
using CommitDone = std::function<void(const StoreResult<void>&)>;

// How large a commit may be, and how long it may be held back.
//
// A commit consists of whole steps (core::Event::begins_step): all changes of a step are in the same
// commit, which is therefore larger than the limits if a single step is. A request is one step, but
// for what it does to several leases one by one: the end of a session, a forced release, the waiters
// that move up.
struct CommitLimits {
    std::size_t changes_max = SIZE_MAX;     // changes that must survive a restart, and fences
    std::size_t text_bytes_max = SIZE_MAX;  // of the texts in them: names, owners, notes
    // So long at most the service holds a commit back for clients that will probably ask in a
    // moment (service/gathering.h). Pays where a commit takes long.
    core::Duration gather_max{0};
};

// What is made durable together: those of the changes that must survive a restart (core::is_kept),
// and of fences each resource at most once.
struct Commit {
    CommitNumber number = no_commit;
    core::Changes changes;
    std::vector<FenceMark> fences;
    // No fencing number up to this one is given out after a restart, even if no committed lease has
    // it. Zero: nothing is reserved.
    std::uint64_t reserved_fence = 0;

    [[nodiscard]] bool empty() const { return size() == 0 && reserved_fence == 0; }

    // How many changes and fences must be written.
    [[nodiscard]] std::size_t size() const {
        const auto kept = std::count_if(changes.begin(), changes.end(), core::is_kept);
        return static_cast<std::size_t>(kept) + fences.size();
    }
};

// What a store has done since it was opened, for people who watch it.
struct StoreFigures {
    std::uint64_t commits = 0;          // that succeeded
    std::uint64_t commit_failures = 0;  // of any kind
    std::uint64_t busy_failures = 0;    // those of them where another program had the store locked
    std::uint64_t changes = 0;          // in the commits that succeeded
    std::uint64_t disk_bytes = 0;       // size of its files now
    std::uint64_t history_rows = 0;     // that are kept now
    // Of each commit that succeeded.
    base::Histogram commit_seconds{0.000'25, 13};
    base::Histogram batch_sizes{1, 13};
};

// Thread safety: recover(), commit(), on_lost(), why_not_recovered() and why_no_growth() are called
// on the service's thread, everything else on any. The store may call back on any thread.
// Lifetime: a store may call back until its destructor has returned.
class Store {
  public:
    virtual ~Store() = default;

    // True if nothing survives the process. Then no answer has to wait for a commit.
    [[nodiscard]] virtual bool is_volatile() const = 0;

    [[nodiscard]] virtual CommitLimits commit_limits() const { return {}; }

    // Calls `on_lease` for every lease that was committed and has not ended, in the order of their
    // fencing numbers and one at a time; then calls `done` once, perhaps before recover() returns.
    // Fails if `on_lease` says of a lease that it makes no sense. The service calls recover() when
    // it begins, and again after a commit that was not done or is unknown. A store that sent a
    // commit whose result is unknown finds out here what became of it: after recover() has
    // succeeded, that commit is written for good or will never be.
    // REQUIRES: no commit and no other recovery is under way.
    virtual void recover(OnRecoveredLease on_lease, RecoverDone done) = 0;

    // Makes the commit durable: all of it or nothing, after everything that was committed before.
    // Then calls `done` once, perhaps before commit() returns.
    // REQUIRES: recover() has succeeded since the last failure; the commit before this one is done;
    // `commit` lives and does not change until this one is done.
    virtual void commit(const Commit& commit, CommitDone done) = 0;

    // Of a volatile store: it gets no commits, so the owner of the service tells it what happened.
    virtual void on_changes(const core::Changes& /*changes*/) {}

    // Whether the store keeps a history of holds (history/hold.h).
    [[nodiscard]] virtual bool keeps_history() const { return false; }
    // Reads the history: everything that was committed before this call, and nothing that is not
    // committed. Calls `done` once, on any thread, perhaps before read_history() returns.
    // REQUIRES: keeps_history(). NOLINTNEXTLINE(performance-unnecessary-value-param): others move it
    virtual void read_history(HistoryQuery /*query*/, HistoryDone done) {
        done(tl::unexpected(StoreFailure{.message = "no history is kept"}));
    }

    // Waits until the last query has been answered. REQUIRES: read_history() is not called again.
    virtual void end_reading() {}

    // What the store has done so far; zeros if it writes nothing.
    [[nodiscard]] virtual StoreFigures figures() const { return {}; }

    // From this time on the service does not answer from memory: another server may have the store
    // by then. Time::max() if the store cannot be lost. The store moves the deadline whenever it is
    // assured that it still has the store.
    [[nodiscard]] core::Time authority_deadline() const {
        return core::Time{core::Duration{authority_deadline_.load(std::memory_order_relaxed)}};
    }

    // Whoever is told when the store is lost while neither a commit nor a recovery is under way. (If
    // one is, its result says so.) One is enough: the last.
    using OnLost = std::function<void(const StoreFailure&)>;
    void on_lost(OnLost on_lost) { on_lost_ = std::move(on_lost); }

    // While a recovery is under way: what it waits for, as a sentence for people. Empty: it reads.
    [[nodiscard]] virtual std::string why_not_recovered() const { return {}; }

    // True while the store is nearly full. The service then grants no new locks, and lets nobody
    // wait for one; it renews and releases as before.
    [[nodiscard]] bool refuses_growth() const {
        return refuses_growth_.load(std::memory_order_relaxed);
    }
    // Why, as a sentence for people.
    [[nodiscard]] virtual std::string why_no_growth() const { return {}; }

  protected:
    void tell_lost(const StoreFailure& why) const {
        if (on_lost_) on_lost_(why);
    }
    void set_refuses_growth(bool refuses) {
        refuses_growth_.store(refuses, std::memory_order_relaxed);
    }
    void set_authority_deadline(core::Time deadline) {
        authority_deadline_.store(deadline.time_since_epoch().count(), std::memory_order_relaxed);
    }

  private:
    std::atomic<core::Duration::rep> authority_deadline_{core::Duration::max().count()};
    std::atomic<bool> refuses_growth_{false};
    OnLost on_lost_;
};

}  // namespace holdfast::service
