#include "store/memory_store.h"

#include <algorithm>
#include <utility>

namespace holdfast::store {

namespace {

service::HistoryLimits in_memory(service::HistoryLimits limits) {
    limits.rows_max = std::min(limits.rows_max, MemoryStore::history_rows_max);
    return limits;
}

}  // namespace

MemoryStore::MemoryStore(service::HistoryLimits history, const service::Clock* clock)
    : limits_(in_memory(history)), clock_(clock), ring_(limits_) {}

void MemoryStore::recover(service::OnRecoveredLease /*on_lease*/, service::RecoverDone done) {
    done(service::Recovered{});
}

void MemoryStore::commit(const service::Commit& /*commit*/, service::CommitDone done) {
    done({});
}

void MemoryStore::on_changes(const core::Changes& changes) {
    if (!keeps_history()) return;
    using core::EventKind;
    const service::WallTime epoch = clock_->wall(core::Time{});
    for (const core::Event& event : changes) {
        if (event.lease.is_transient) continue;
        const std::uint64_t fence = core::as_number(event.lease.token.fence);
        const bool is_now_kept = event.kind == EventKind::renewed && !event.by.empty() &&
                                 event.cause != core::Cause::force;
        if (event.kind == EventKind::granted || is_now_kept) {
            open_.begin(fence, {.waited = service::waited_of(event), .by = event.by});
        } else if (event.kind == EventKind::released || event.kind == EventKind::expired) {
            ended_.push_back(service::to_hold(event, open_.find(fence), epoch));
            open_.end(fence);
        }
    }
    if (!ended_.empty()) ring_.add(ended_, clock_->wall(clock_->now()));
    ended_.clear();
}

void MemoryStore::read_history(service::HistoryQuery query, service::HistoryDone done) {
    done(ring_.read(query, clock_->wall(clock_->now())));
}

service::StoreFigures MemoryStore::figures() const {
    service::StoreFigures figures;
    figures.history_rows = ring_.size();
    return figures;
}

}  // namespace holdfast::store
