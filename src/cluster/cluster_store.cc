#include "cluster/cluster_store.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "base/log/log.h"
#include "cluster/leading/new_epoch.h"

namespace holdfast::cluster {

namespace {

using service::StoreFailure;
using Kind = StoreFailure::Kind;

// The texts of a commit, which become a part of what etcd takes in one request.
constexpr std::size_t text_bytes_max = 512 << 10;

constexpr core::Duration history_tended_every = std::chrono::minutes{1};

service::StoreResult<void> failed(Kind kind, std::string why) {
    return tl::unexpected(StoreFailure{.kind = kind, .message = std::move(why)});
}

// How long an attempt at a transaction may take: short enough for another member to be asked before
// the lease ends.
core::Duration attempt_timeout(std::chrono::seconds ttl) {
    return core::Duration{ttl} / 4;
}

}  // namespace

ClusterStore::ClusterStore(ClusterOptions options, ClusterParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      keys_(options_.prefix),
      self_{.name = options_.node,
            .peer = options_.peer,
            .version = options_.version,
            .started = parts_.clock.wall(parts_.clock.now())},
      slots_(parts_.timers),
      candidate_(self_, options_.lease,
                 {.etcd = parts_.etcd, .slots = slots_, .keys = keys_, .random = parts_.random},
                 make_hooks()),
      reader_(parts_.etcd, slots_, keys_),
      writer_(parts_.etcd, slots_, keys_, attempt_timeout(options_.lease.ttl),
              [this] { candidate_.look_at_time(); }),
      housekeeping_({.compacts = options_.compacts,
                     .quota_bytes = options_.quota_bytes,
                     .look_every = options_.housekeeping_every,
                     .warnings = options_.etcd_warnings},
                    {.etcd = parts_.etcd, .slots = slots_, .keys = keys_}, [this] { show(); }),
      history_(options_.history, keys_) {
    set_authority_deadline(core::Time::min());
    show();
}

ClusterStore::~ClusterStore() = default;

Candidate::Hooks ClusterStore::make_hooks() {
    return {.load = [this](etcd::Revision elected_at) { load(elected_at); },
            .step_down = [this](const std::string& why) { step_down(why); },
            .finish = [this] { finish(); },
            .stopped =
                [this] {
                    if (const auto stopped = std::exchange(stopped_, nullptr)) stopped();
                },
            .refuse = [this](const std::string& why) { refuse(why); },
            .authority = [this](core::Time until) { set_authority_deadline(until); },
            .changed = [this] { show(); }};
}

service::CommitLimits ClusterStore::commit_limits() const {
    return {.changes_max = operations_max,
            .text_bytes_max = text_bytes_max,
            .gather_max = std::chrono::milliseconds{4}};
}

bool ClusterStore::is_leading() const {
    return candidate_.state() == Leadership::State::leading;
}

// ---- Commits ----

void ClusterStore::commit(const service::Commit& commit, service::CommitDone done) {
    CHECK(!commit_done_ && !recovery_);
    candidate_.look_at_time();
    if (!is_leading()) return done(failed(Kind::deposed, why_not_recovered()));
    effect_.compute(commit);
    const service::WallTime epoch = parts_.clock.wall(core::Time{});
    const bool may_grow = housekeeping_.etcd().refuses_growth.empty();
    std::vector<GuardedStep> steps =
        plan_commit(keys_, writer_.term(), effect_, epoch, written_,
                    {.operations = history_.plan(effect_, epoch, may_grow),
                     .begin_of = [this](std::uint64_t fence) { return history_.begin_of(fence); }});
    if (steps.empty()) return done({});
    commit_done_ = std::move(done);
    commit_began_ = slots_.now();
    commit_size_ = commit.size();
    writer_.write(std::move(steps),
                  [this](const GuardedWriter::Result& result) { on_committed(result); });
}

void ClusterStore::on_committed(const GuardedWriter::Result& result) {
    const Kind kind = result.is_partial ? Kind::unknown : Kind::not_done;
    switch (result.verdict) {
        case Verdict::done:
            housekeeping_.on_commit(result.revision);
            history_.on_committed(parts_.clock.wall(parts_.clock.now()), result.left_out);
            end_commit({});
            break;
        case Verdict::full:
            housekeeping_.on_full(result.why);
            end_commit(failed(kind, result.why));
            break;
        case Verdict::rejected: end_commit(failed(kind, result.why)); break;
        case Verdict::again:
        case Verdict::deposed:
            // The way of every loss: step_down() ends the commit.
            if (is_leading() || candidate_.state() == Leadership::State::resigning) {
                candidate_.fail(result.why);
            }
            return;
    }
    if (candidate_.state() == Leadership::State::resigning) candidate_.finished();
}

void ClusterStore::end_commit(const service::StoreResult<void>& result) {
    {
        const std::lock_guard guard(figures_mutex_);
        if (result) {
            const std::chrono::duration<double> seconds = slots_.now() - commit_began_;
            ++figures_.commits;
            figures_.changes += commit_size_;
            figures_.commit_seconds.add(seconds.count());
            figures_.batch_sizes.add(static_cast<double>(commit_size_));
        } else {
            ++figures_.commit_failures;
        }
    }
    const service::CommitDone done = std::exchange(commit_done_, nullptr);
    done(result);
}

service::StoreFigures ClusterStore::figures() const {
    const std::lock_guard guard(figures_mutex_);
    service::StoreFigures seen = figures_;
    seen.disk_bytes = view_.picture()->etcd.database_bytes;
    seen.history_rows = history_.size();
    return seen;
}

void ClusterStore::read_history(service::HistoryQuery query, service::HistoryDone done) {
    const core::Time now = parts_.clock.now();
    if (now >= authority_deadline()) {
        return done(tl::unexpected(StoreFailure{.message = "this node does not lead"}));
    }
    done(history_.read(query, parts_.clock.wall(now)));
}

// A commit removes what is too old. While there is none, this does: once a minute, if this node still
// leads.
void ClusterStore::tend_history() {
    slots_.set(TimerSlots::Slot::history, slots_.now() + history_tended_every,
               [this] { tend_history(); });
    if (commit_done_ || !is_serving_) return;
    const auto removals = std::make_shared<std::vector<etcd::Operation>>(
        history_.plan_removals(parts_.clock.wall(parts_.clock.now())));
    if (removals->empty()) return;
    const auto transaction = std::make_shared<etcd::Transaction>();
    transaction->conditions = {{.target = etcd::Compare::Target::create_revision,
                                .key = keys_.leader(),
                                .number = writer_.term().elected_at}};
    transaction->then = *removals;
    parts_.etcd.transact(transaction, attempt_timeout(options_.lease.ttl),
                         [this, removals, alive = std::weak_ptr<int>(alive_)](
                             const etcd::Answer<etcd::TransactionAnswer>& answer) {
                             if (!alive.expired() && answer && answer->is_true)
                                 history_.on_removed(*removals);
                         });
}

// ---- The lead ----

// The lead is lost. Nobody is told of success any more.
void ClusterStore::step_down(const std::string& why) {
    reader_.cancel();
    slots_.clear(TimerSlots::Slot::recovery);
    slots_.clear(TimerSlots::Slot::history);
    writer_.give_up(why);
    history_.clear();
    is_serving_ = false;
    const bool had_lead = std::exchange(service_has_lead_, false);
    if (commit_done_) return end_commit(failed(Kind::deposed, why));
    if (!recovery_) {
        if (had_lead) tell_lost({.kind = Kind::deposed, .message = why});
        return;
    }
    if (recovery_->is_confirmed || had_lead) {
        return finish_recovery(tl::unexpected(StoreFailure{.kind = Kind::deposed, .message = why}));
    }
    // It was about to lead: it goes on waiting for its turn.
    candidate_.want();
}

// This node hands over. The commit under way comes first.
void ClusterStore::finish() {
    if (!commit_done_) candidate_.finished();
}

void ClusterStore::refuse(const std::string& why) {
    base::log(base::LogLevel::error, "this node cannot join the cluster", {{"why", why}});
    fail_recovery(why);
}

void ClusterStore::resign(std::function<void(base::Result<void>)> done) {
    candidate_.look_at_time();
    if (!is_leading()) return done(base::fail("this node does not lead: " + why_not_recovered()));
    resigned_ = std::move(done);
    candidate_.resign();
}

void ClusterStore::begin_epoch(std::function<void(base::Result<std::uint64_t>)> done) {
    candidate_.look_at_time();
    if (candidate_.leadership().has_lead()) candidate_.retire("a new epoch begins");
    raise_epoch(
        parts_.etcd, keys_,
        {.now = parts_.clock.wall(parts_.clock.now()), .secret = make_secret(parts_.random)},
        [this, done = std::move(done),
         alive = std::weak_ptr<int>(alive_)](const base::Result<std::uint64_t>& epoch) {
            if (!alive.expired()) candidate_.retired();
            done(epoch);
        });
}

void ClusterStore::stop(std::function<void()> done) {
    CHECK(!is_stopping_);
    is_stopping_ = true;
    stopped_ = std::move(done);
    housekeeping_.stop();
    fail_recovery("this node stops");
    candidate_.stop();
}

// ---- What it says ----

std::string ClusterStore::why_not_recovered() const {
    std::string why = candidate_.why_nobody_leads();
    if (!why.empty()) return why;
    const Leader leader = candidate_.leader();
    if (is_leading()) return "";
    why = candidate_.why_not_joined();
    return "node " + leader.name + " leads" +
           (why.empty() ? "" : ", and this node cannot join yet: " + why);
}

std::string ClusterStore::why_no_growth() const {
    return housekeeping_.etcd().refuses_growth;
}

namespace {

NodeRole role_of(Leadership::State state) {
    using enum Leadership::State;
    switch (state) {
        case idle:
        case joining:
        case enrolling: return NodeRole::joining;
        case campaigning:
        case following: return NodeRole::following;
        case loading:
        case confirming: return NodeRole::taking_over;
        case leading: return NodeRole::leading;
        case resigning:
        case leaving: return NodeRole::leaving;
        case stopped: return NodeRole::stopped;
    }
    return NodeRole::stopped;
}

}  // namespace

// Shows other threads what this node knows now, and tells whoever waits for a hand-over.
void ClusterStore::show() {
    const Leadership::State state = candidate_.state();
    set_refuses_growth(!housekeeping_.etcd().refuses_growth.empty());
    view_.set({.node = self_.name,
               .role = role_of(state),
               .leader = candidate_.leader(),
               .why_nobody_leads = candidate_.why_nobody_leads(),
               .nodes = housekeeping_.nodes(),
               .etcd = housekeeping_.etcd(),
               .history_dropped = history_.dropped(),
               .secret = candidate_.secret()});
    const bool is_leaving =
        state == Leadership::State::resigning || state == Leadership::State::leaving;
    if (is_leaving || !resigned_) return;
    std::exchange(resigned_, nullptr)({});
}

}  // namespace holdfast::cluster
