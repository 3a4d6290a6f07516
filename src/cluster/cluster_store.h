#pragma once

// ClusterStore: leases that survive the machine. etcd has them, and one node at a time serves.
//
// How to think of it: every node has a ClusterStore. recover() waits until this node leads, which
// may take for ever, then reads everything at the revision of the election, makes the first guarded
// commit, and is done. commit() is one guarded transaction (guarded_commit.h). When the node loses
// its leadership, the commit under way ends as `deposed`; if there is none, the service is told by
// Store::tell_lost(). The owner of the service then calls LockService::recover() again, and the node
// may lead once more.
//
// Its parts: Leadership decides who leads (pure), Candidate does what it orders, SnapshotReader reads
// the locks, GuardedWriter writes, Housekeeping keeps etcd small. This file joins them.
//
// Thread safety: everything on the service's thread, which is also the thread of `etcd` and `timers`;
// view().picture(), figures(), read_history() and authority_deadline() from any thread.
// Lifetime: `parts` outlive the store. Nothing is called back after the destructor. The destructor
// tells etcd nothing: without stop() before it, the others wait for the end of the lease.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/cluster_history.h"
#include "cluster/guarded_writer.h"
#include "cluster/housekeeping.h"
#include "cluster/leading/candidate.h"
#include "cluster/records/keys.h"
#include "cluster/snapshot_reader.h"
#include "cluster/timers.h"
#include "cluster/view.h"
#include "etcd/api.h"
#include "service/ports/clock.h"
#include "service/store.h"

namespace holdfast::cluster {

struct ClusterOptions {
    std::string prefix = "/holdfast";
    std::string node;     // the name of this node, unlike every other
    std::string peer;     // HOST:PORT where other nodes reach it
    std::string version;  // of this program
    LeaseTimes lease;
    // Drop the history of etcd that nobody needs any more.
    bool compacts = true;
    std::uint64_t quota_bytes = std::uint64_t{2} << 30U;
    // What is wrong with the way to etcd: shown with what is known of etcd.
    std::vector<std::string> etcd_warnings = {};
    // How often the nodes and the size of etcd are looked at.
    core::Duration housekeeping_every = std::chrono::seconds{5};
    // What is kept of the history of holds, in etcd and in the memory of the leader.
    service::HistoryLimits history = {};
};

struct ClusterParts {
    etcd::Api& etcd;
    Timers& timers;
    // Its now() is that of `timers`. Its wall() is for people.
    const service::Clock& clock;
    // 64 unguessable bits at each call.
    std::function<std::uint64_t()> random;
};

class ClusterStore : public service::Store {
  public:
    ClusterStore(ClusterOptions options, ClusterParts parts);
    ~ClusterStore() override;

    [[nodiscard]] bool is_volatile() const override { return false; }
    [[nodiscard]] service::CommitLimits commit_limits() const override;
    // The first call joins the cluster. Fails as `not_done` if this node cannot be a part of it (the
    // password is wrong, the data have a newer format), or if a lease makes no sense; and as
    // `deposed` if the leadership is lost after the first commit.
    void recover(service::OnRecoveredLease on_lease, service::RecoverDone done) override;
    void commit(const service::Commit& commit, service::CommitDone done) override;
    [[nodiscard]] service::StoreFigures figures() const override;
    [[nodiscard]] bool keeps_history() const override { return history_.is_on(); }
    void read_history(service::HistoryQuery query, service::HistoryDone done) override;
    [[nodiscard]] std::string why_not_recovered() const override;
    [[nodiscard]] std::string why_no_growth() const override;

    [[nodiscard]] View& view() { return view_; }
    [[nodiscard]] const View& view() const { return view_; }

    // Hands over to another node: finishes the commit under way, gives up the lead, and leaves the
    // others some time to take it. Fails if this node does not lead. `done` is called when etcd has
    // heard of it, or did not answer.
    void resign(std::function<void(base::Result<void>)> done);

    // After etcd was restored from a backup: raises the epoch, the counter and the fencing numbers far, and
    // draws a new secret (leading/new_epoch.h). If this node leads, it gives up the lead before, and lets
    // the others lead after. `done` is called with the new epoch.
    void begin_epoch(std::function<void(base::Result<std::uint64_t>)> done);

    // Leaves the cluster for good, and hands over first if this node leads. Never fails; takes a
    // second at most after the commit under way. REQUIRES: called once.
    void stop(std::function<void()> done);

  private:
    // What recover() was called for.
    struct Recovery {
        service::OnRecoveredLease on_lease;
        service::RecoverDone done;
        bool is_confirmed = false;  // the node leads, and visits the leases
        bool is_reload = false;     // the node led before
        Snapshot snapshot = {};
        std::size_t visited = 0;  // of its leases
    };

    [[nodiscard]] Candidate::Hooks make_hooks();
    [[nodiscard]] bool is_leading() const;

    // cluster_store_recovery.cc
    void load(etcd::Revision elected_at);
    void on_loaded(etcd::Revision elected_at, etcd::Answer<Snapshot> snapshot);
    void make_first_commit();
    void on_first_commit(const Leader& self, const GuardedWriter::Result& result);
    void reload();
    void on_checked(const GuardedWriter::Result& result);
    void visit_leases();
    void finish_recovery(service::StoreResult<service::Recovered> result);
    void fail_recovery(const std::string& why);

    void on_committed(const GuardedWriter::Result& result);
    void end_commit(const service::StoreResult<void>& result);
    void tend_history();
    void step_down(const std::string& why);
    void finish();
    void refuse(const std::string& why);
    void show();

    const ClusterOptions options_;
    const ClusterParts parts_;
    const Keys keys_;
    const Node self_;
    TimerSlots slots_;
    View view_;
    Candidate candidate_;
    SnapshotReader reader_;
    GuardedWriter writer_;
    Housekeeping housekeeping_;
    service::CommitEffect effect_;  // of the commit under way
    WrittenLeases written_;
    ClusterHistory history_;

    bool is_serving_ = false;  // the service has the locks since the last recovery
    // The service has had the locks since this node was elected. Unlike is_serving_, this is still so while the
    // service reads them again, or has failed to: it must be told when the lead is lost.
    bool service_has_lead_ = false;
    std::optional<Recovery> recovery_;
    service::CommitDone commit_done_;  // of the commit under way
    core::Time commit_began_;
    std::size_t commit_size_ = 0;
    std::function<void(base::Result<void>)> resigned_;
    std::function<void()> stopped_;
    bool is_stopping_ = false;

    // Gone when the store is.
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);

    mutable std::mutex figures_mutex_;
    service::StoreFigures figures_;
};

}  // namespace holdfast::cluster
