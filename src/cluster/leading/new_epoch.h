#pragma once

// What an operator does after etcd was restored from a backup.
//
// A backup takes etcd back to an earlier time, and with it the counter, the epoch and the fencing
// numbers. Clients that got a number after the backup was made have a larger one than the next leader
// would give out, and nodes that still run believe things that are no longer written. So all of them
// are raised far, and the nodes get a new secret.
//
// The leader's key stays. While the key is there, no other node can lead, and its node may answer from
// memory: removing the key of a node that answers would make two leaders. What becomes of a leader:
//
//   the node that is asked leads     it gives up the lead before (ClusterStore::begin_epoch()), and
//                                    lets others lead after
//   another node leads               its commits do nothing from now on, because the counter is
//                                    another. It gives up the lead at its next confirmation, because
//                                    the epoch is another (confirmation.h)
//   it was elected, but has not      its first commit does nothing, because the counter is another
//   made its first commit

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "cluster/records/keys.h"
#include "etcd/api.h"
#include "service/ports/clock.h"

namespace holdfast::cluster {

// How far: more commits, leaders and grants than there can have been since the backup. Fencing
// numbers begin at least at the wall clock in microseconds, and go on from there.
inline constexpr std::uint64_t epochs_skipped = 1'000'000;
inline constexpr std::uint64_t commits_skipped = 1'000'000'000'000;
inline constexpr std::uint64_t fences_skipped = std::uint64_t{1} << 40U;

struct NewEpoch {
    service::WallTime now;
    std::string secret;  // of the nodes, from now on
};

// Calls `done` once, with the new epoch, or why it could not be raised. If etcd does not tell whether it
// is raised, reads and tries again, some times. If it never tells, it may have been raised: doing it
// twice does no harm.
// REQUIRES: this node does not lead, and has no commit under way. `etcd` outlives the call.
void raise_epoch(etcd::Api& etcd, const Keys& keys, NewEpoch wanted,
                 std::function<void(base::Result<std::uint64_t>)> done);

}  // namespace holdfast::cluster
