#pragma once

// LeaseBoard: what every thread of the program may read of the leases that are held, without asking the
// service's thread.
//
// The service's thread puts a lease on the board when its grant or renewal is certain, and takes the lease
// off when its end is: before any client is told of something that rests on that end. So while a lease is
// on the board, and its time is not over by the clock of the engine, nobody else has been told that it has
// the lock. A lease that is not on the board may be held all the same: the board remembers the
// leases that were put there last.
//
// Thread safety: everything from any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/values/ids.h"
#include "holdfast/lease.h"

namespace holdfast::embedded {

class LeaseBoard {
  public:
    // Remembers so many leases, or a few more. Zero: none.
    explicit LeaseBoard(std::size_t leases_max);

    // Replaces what is known of the lease.
    void put(core::Token token, Lease lease);
    void take_off(core::Fence fence);
    void clear();

    // Null if the lease is not on the board.
    [[nodiscard]] std::shared_ptr<const Lease> find(core::Token token) const;
    [[nodiscard]] std::size_t size() const;

  private:
    struct Note {
        core::Secret secret;
        std::shared_ptr<const Lease> lease;
    };
    // Fencing numbers follow one another, so the leases spread evenly.
    struct alignas(64) Shard {
        mutable std::mutex mutex;
        std::unordered_map<std::uint64_t, Note> notes;  // by fencing number
        std::vector<std::uint64_t> order;  // a ring: the fencing numbers that were put there last
        std::size_t next = 0;              // the oldest in the ring
    };
    static constexpr std::size_t shard_count = 64;

    [[nodiscard]] Shard& shard_of(core::Fence fence) {
        return shards_[core::as_number(fence) % shard_count];
    }
    [[nodiscard]] const Shard& shard_of(core::Fence fence) const {
        return shards_[core::as_number(fence) % shard_count];
    }

    const std::size_t notes_max_;  // of a shard
    std::array<Shard, shard_count> shards_;
};

}  // namespace holdfast::embedded
