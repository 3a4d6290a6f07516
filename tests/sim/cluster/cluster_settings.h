#pragma once

// ClusterSettings: what a seed says of a cluster, besides what Settings says of every world.

#include <chrono>
#include <cstddef>
#include <string>

#include "sim/etcd/simulated_etcd.h"
#include "sim/settings.h"
#include "sim/world.h"

namespace holdfast::sim {

// What goes wrong in a cluster. The faults of a server (it dies, it stands still, its timers are
// late) are those of a node here; the faults of a disk do not happen.
struct ClusterFaults {
    EtcdFaults etcd;
    core::Duration member_down_every{0};
    core::Duration member_cut_every{0};     // from the other members
    core::Duration member_lag_every{0};     // applies late
    core::Duration leader_lost_every{0};    // etcd has none for a while
    core::Duration full_every{0};           // etcd takes no puts for a while
    core::Duration line_cut_every{0};       // a node does not reach a member, or none
    core::Duration hop_cut_every{0};        // a connection between two nodes dies
    core::Duration resign_every{0};         // the leader hands over
    core::Duration lease_revoked_every{0};  // etcd ends a lease that lives
    core::Duration key_removed_every{0};    // somebody removes the leader's key; its lease lives
    core::Duration new_epoch_every{0};      // an operator begins a new epoch
    double stop_in_takeover = 0;            // at each answer that a node gets while it takes over
};

struct ClusterSettings {
    std::chrono::seconds ttl{0};       // of a node's lease in etcd
    core::Duration renewed_every{0};   // that lease; the program does it every 500 ms
    std::size_t history_rows_max = 0;  // zero: there is no history
    ClusterFaults faults;

    static ClusterSettings draw(const Settings& settings, Random& random);
};

[[nodiscard]] std::string to_text(const ClusterSettings& settings);

}  // namespace holdfast::sim
