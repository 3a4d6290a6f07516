#pragma once

// EtcdHistory: whether the history of holds that a cluster has in etcd tells the truth.
//
// It looks at what is in etcd alone, and remembers which leases ever were there. A lease that was
// transient until the commit in which it ended is never in etcd, but its holder was told that it is
// durable; so it may be in the history.

#include <cstdint>
#include <set>
#include <string>

#include "cluster/records/keys.h"
#include "service/store.h"
#include "sim/etcd/keyspace.h"

namespace holdfast::sim {

class EtcdHistory {
  public:
    // Both outlive it. `is_complete`: no row is ever left out, or removed.
    EtcdHistory(const Keyspace& keyspace, const cluster::Keys& keys, bool is_complete)
        : keyspace_(keyspace), keys_(keys), is_complete_(is_complete) {}

    // A node wants to write this.
    void on_commit(const service::Commit& commit);
    // After each change of etcd: remembers the leases that are there.
    void look();
    // What is wrong; empty: nothing.
    [[nodiscard]] std::string find_fault() const;

  private:
    [[nodiscard]] std::string leases() const { return keys_.prefix() + "lease/"; }
    [[nodiscard]] std::uint64_t fence_of(const std::string& key) const;

    const Keyspace& keyspace_;
    const cluster::Keys& keys_;
    const bool is_complete_;
    etcd::Revision looked_at_ = 0;
    std::set<std::uint64_t> written_;  // leases that ever were in etcd, by fencing number
    std::set<std::uint64_t>
        made_durable_;  // leases that a node wanted to make durable by a renewal
};

}  // namespace holdfast::sim
