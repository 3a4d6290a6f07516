#pragma once

// What an operator does after etcd was restored from a backup.
//
// A backup takes etcd back to an earlier time, and with it the counter, the epoch and the fencing
// numbers. Whoever got a number after the backup was made has a larger one than the next leader
// would give out, and nodes that still run believe things that are no longer written. So all of them
// are raised far, and whoever leads is deposed.

#include <cstdint>
#include <functional>

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

// Calls `done` with the new epoch, or why it could not be raised. If etcd does not answer, it may
// have been raised: doing it twice does no harm. Anybody may do it, also while nodes run.
// `keys` and `etcd` outlive the call.
void raise_epoch(etcd::Api& etcd, const Keys& keys, service::WallTime now,
                 std::function<void(base::Result<std::uint64_t>)> done);

}  // namespace holdfast::cluster
