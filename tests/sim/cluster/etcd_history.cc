#include "sim/cluster/etcd_history.h"

#include <map>

#include "base/text/hex.h"
#include "cluster/cluster_history.h"
#include "cluster/records/lease_record.h"
#include "core/values/changes.h"
#include "sim/history_check.h"

namespace holdfast::sim {

void EtcdHistory::on_commit(const service::Commit& commit) {
    for (const core::Event& change : commit.changes) {
        if (change.kind != core::EventKind::renewed || !core::is_kept(change)) continue;
        made_durable_.insert(core::as_number(change.lease.token.fence));
    }
}

std::uint64_t EtcdHistory::fence_of(const std::string& key) const {
    return base::parse_hex(std::string_view(key).substr(keys_.leases(0).size())).value();
}

void EtcdHistory::look() {
    const etcd::Revision now = keyspace_.revision();
    if (now == looked_at_) return;
    const auto changes = keyspace_.changes({.first = looked_at_ + 1, .last = now}, leases(),
                                           etcd::end_of_prefix(leases()));
    for (const etcd::WatchEvent& change : changes) {
        if (!change.is_removal) written_.insert(fence_of(change.entry.key));
    }
    looked_at_ = now;
}

std::string EtcdHistory::find_fault() const {
    const auto read = [this](const std::string& prefix) {
        return keyspace_
            .range({.key = prefix, .range_end = etcd::end_of_prefix(prefix)}, keyspace_.revision())
            ->found;
    };
    std::map<std::uint64_t, int> rows;
    std::set<std::uint64_t> written = written_, held;
    for (const etcd::KeyValue& entry : read(keys_.histories())) {
        const auto holds = cluster::parse_holds(1, entry.value);
        if (!holds) return "the history in etcd is damaged: " + holds.error().message;
        for (const service::Hold& hold : *holds) {
            ++rows[hold.fence];
            if (made_durable_.contains(hold.fence)) written.insert(hold.fence);
        }
    }
    for (const etcd::KeyValue& entry : read(leases())) {
        const std::uint64_t fence = fence_of(entry.key);
        const auto lease = cluster::parse_lease(core::Fence{fence}, entry.value);
        if (lease && !lease->is_in_grace) held.insert(fence);
    }
    return sim::find_fault({.rows = rows,
                            .written = written,
                            .is_held = [&](std::uint64_t fence) { return held.contains(fence); },
                            .is_complete = is_complete_});
}

}  // namespace holdfast::sim
