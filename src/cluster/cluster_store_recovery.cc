// How a node takes over: it waits for the lead, reads, makes its first commit, and hands the leases
// to the service.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log/log.h"
#include "cluster/cluster_store.h"

namespace holdfast::cluster {

namespace {

using service::StoreFailure;
using Kind = StoreFailure::Kind;

// So many leases are handed over at a time. In between, the lease of the node is renewed.
constexpr std::size_t visited_at_once = 20'000;

}  // namespace

void ClusterStore::recover(service::OnRecoveredLease on_lease, service::RecoverDone done) {
    CHECK(!recovery_ && !commit_done_);
    recovery_ = {.on_lease = std::move(on_lease), .done = std::move(done)};
    if (is_stopping_) return fail_recovery("this node stops");
    housekeeping_.start();
    candidate_.look_at_time();
    if (!recovery_) return;  // the lead was lost in this moment, and the recovery has ended with it
    if (is_leading()) return reload();
    const Leadership::State state = candidate_.state();
    candidate_.want();
    if (state == Leadership::State::idle || state == Leadership::State::stopped) candidate_.start();
}

// This node was elected.
void ClusterStore::load(etcd::Revision elected_at) {
    CHECK(recovery_);
    base::log(base::LogLevel::info, "this node was elected, and reads the locks",
              {{"node", self_.name}, {"revision", std::int64_t{elected_at}}});
    reader_.read(elected_at, [this, elected_at](etcd::Answer<Snapshot> snapshot) {
        on_loaded(elected_at, std::move(snapshot));
    });
}

void ClusterStore::on_loaded(etcd::Revision elected_at, etcd::Answer<Snapshot> snapshot) {
    if (!snapshot) {
        const std::string why = snapshot.error().message;
        const bool is_final = snapshot.error().kind != etcd::Failure::Kind::compacted;
        if (is_final) fail_recovery(why);
        return candidate_.fail(why);
    }
    if (snapshot->last_fence >= core::as_number(core::fence_max)) {
        fail_recovery("all fencing numbers are used up");
        return candidate_.fail("all fencing numbers are used up");
    }
    recovery_->snapshot = std::move(*snapshot);
    writer_.begin({.elected_at = elected_at, .counter = recovery_->snapshot.counter});
    candidate_.loaded();
    make_first_commit();
}

// Raises the epoch and the counter. Only after this is done is it certain that the node leads.
void ClusterStore::make_first_commit() {
    const Leader self{.name = self_.name,
                      .peer = self_.peer,
                      .epoch = recovery_->snapshot.epoch + 1,
                      .since = parts_.clock.wall(parts_.clock.now())};
    writer_.write(
        {plan_first_commit(keys_, writer_.term(), self, candidate_.leadership().lease())},
        [this, self](const GuardedWriter::Result& result) { on_first_commit(self, result); });
}

void ClusterStore::on_first_commit(const Leader& self, const GuardedWriter::Result& result) {
    // If the lead was lost meanwhile, step_down() has seen to everything.
    if (candidate_.state() != Leadership::State::confirming) return;
    if (result.verdict != Verdict::done) {
        if (result.verdict == Verdict::rejected) fail_recovery(result.why);
        return candidate_.fail(result.why);
    }
    recovery_->is_confirmed = true;
    candidate_.confirmed(self);
    if (!is_leading()) return;
    housekeeping_.on_commit(result.revision);
    visit_leases();
}

// The service begins anew while this node leads, because a commit was refused. No transaction is
// under way, so what etcd has now is what there is. It is read at the revision of a guarded
// transaction: another leader has changed nothing until then.
void ClusterStore::reload() {
    is_serving_ = false;
    recovery_->is_confirmed = recovery_->is_reload = true;
    writer_.write({plan_check(keys_, writer_.term())},
                  [this](const GuardedWriter::Result& result) { on_checked(result); });
}

void ClusterStore::on_checked(const GuardedWriter::Result& result) {
    if (!is_leading()) return;
    if (result.verdict == Verdict::deposed) return candidate_.fail(result.why);
    if (result.verdict != Verdict::done) return fail_recovery(result.why);
    reader_.read(result.revision, [this](etcd::Answer<Snapshot> snapshot) {
        if (!snapshot) return fail_recovery(snapshot.error().message);
        recovery_->snapshot = std::move(*snapshot);
        visit_leases();
    });
}

void ClusterStore::visit_leases() {
    Recovery& recovery = *recovery_;
    const std::vector<LeaseRecord>& leases = recovery.snapshot.leases;
    const std::size_t end = std::min(leases.size(), recovery.visited + visited_at_once);
    if (recovery.visited == 0) written_.clear();
    for (; recovery.visited < end; ++recovery.visited) {
        const LeaseRecord& lease = leases[recovery.visited];
        (void)written_.is_known(core::as_number(lease.token.fence), to_text(lease));
        const auto members = core::parse_set(lease.members);
        if (members && recovery.on_lease(to_request(lease, *members, parts_.clock))) continue;
        const std::string why = fmt::format("the lease with fencing number {} makes no sense",
                                            core::as_number(lease.token.fence));
        // A service that served until now is deposed; its owner then finds out at the next election.
        if (!recovery.is_reload) fail_recovery(why);
        return candidate_.fail(why);
    }
    if (recovery.visited < leases.size()) {
        return slots_.set(TimerSlots::Slot::recovery, slots_.now(), [this] { visit_leases(); });
    }
    // The numbers are our own: etcd's revisions go back when it is restored from a backup.
    service::Recovered recovered{.leases = leases.size(),
                                 .next_fence = recovery.snapshot.last_fence + 1,
                                 .fences = std::move(recovery.snapshot.fences)};
    base::log(base::LogLevel::info, "this node leads",
              {{"node", self_.name},
               {"epoch", candidate_.leader().epoch},
               {"leases", std::uint64_t{recovered.leases}}});
    history_.begin(recovery.snapshot.history, leases, parts_.clock.wall(parts_.clock.now()));
    is_serving_ = service_has_lead_ = true;
    if (history_.is_on()) tend_history();
    finish_recovery(std::move(recovered));
}

void ClusterStore::finish_recovery(service::StoreResult<service::Recovered> result) {
    reader_.cancel();
    slots_.clear(TimerSlots::Slot::recovery);
    const Recovery recovery = *std::exchange(recovery_, std::nullopt);
    recovery.done(std::move(result));
}

// Does nothing if there is no recovery.
void ClusterStore::fail_recovery(const std::string& why) {
    if (!recovery_) return;
    finish_recovery(tl::unexpected(StoreFailure{.kind = Kind::not_done, .message = why}));
}

}  // namespace holdfast::cluster
