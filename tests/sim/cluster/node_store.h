#pragma once

// NodeStore: the real ClusterStore of a simulated node, with its way to the simulated etcd and its
// timers. The checker is told what the store does.

#include <cstdint>
#include <functional>
#include <memory>

#include "cluster/cluster_store.h"
#include "cluster/timers.h"
#include "sim/etcd/simulated_api.h"
#include "sim/machine.h"
#include "sim/settings.h"
#include "sim/store_hooks.h"
#include "sim/world.h"

namespace holdfast::sim {

// SimTimers: one alarm on a simulated node; it rings late, or never if the node dies.
class SimTimers final : public cluster::Timers {
  public:
    // Everything outlives the timers.
    struct Parts {
        World& world;
        const Machine& machine;
        const Faults& faults;
        std::function<void(core::Duration, std::function<void()>)> in_turn;
    };

    explicit SimTimers(Parts parts) : parts_(std::move(parts)) {}

    [[nodiscard]] core::Time now() const override { return parts_.machine.now(); }
    void set(core::Time time, std::function<void()> task) override;

  private:
    const Parts parts_;
    std::uint64_t number_ = 0;  // of the alarm that counts
};

// What a NodeStore is made of. Everything outlives it.
struct NodeStoreParts {
    World& world;
    const Machine& machine;
    const Faults& faults;
    SimulatedEtcd& etcd;
    const EtcdFaults& etcd_faults;
    const EtcdLine& line;
};

// Made before the store, and gone after it.
struct NodeMeans {
    NodeMeans(const NodeStoreParts& parts, const StoreHooks& hooks);

    SimTimers timers;
    SimulatedApi api;
};

class NodeStore final : private NodeMeans, public cluster::ClusterStore {
  public:
    NodeStore(cluster::ClusterOptions options, const NodeStoreParts& parts, StoreHooks hooks);

    void recover(service::OnRecoveredLease on_lease, service::RecoverDone done) override;
    void commit(const service::Commit& commit, service::CommitDone done) override;

    // No commit is under way or held back, and the events of the last one are told.
    [[nodiscard]] bool is_quiet(core::Duration timer_lateness_max) const {
        const core::Duration held_back_max = commit_limits().gather_max + timer_lateness_max;
        return !is_committing_ && parts_.world.now() > last_commit_ + held_back_max;
    }

  private:
    const NodeStoreParts parts_;
    const StoreHooks hooks_;
    bool is_committing_ = false;
    Moment last_commit_{Moment::min()};
};

}  // namespace holdfast::sim
