#pragma once

// DoorCounts: what the clients of one door hold and wait for, lock by lock. So a door can have limits
// of its own (DoorLimits), and it costs nothing as long as no door has.
//
// How to think of it: a shadow of Resource::holder_count and Resource::waiter_count that sees one
// door alone. The lock table reports every change of these two; changes of other doors are ignored.
//
// Thread safety: none.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/containers/slab.h"
#include "core/values/ids.h"

namespace holdfast::core {

class DoorCounts {
  public:
    // REQUIRES: nothing was counted yet.
    void count_for(Door door) { door_ = door; }
    [[nodiscard]] bool counts(Door door) const { return door_ && *door_ == door; }

    void add_holder(Slot resource, Door door) { change(resource, door, 1, 0); }
    void remove_holder(Slot resource, Door door) { change(resource, door, -1, 0); }
    void add_waiter(Slot resource, Door door) { change(resource, door, 0, 1); }
    void remove_waiter(Slot resource, Door door) { change(resource, door, 0, -1); }

    // How many locks the clients of the door hold or wait for.
    [[nodiscard]] std::size_t locks() const { return locks_; }
    // Whether they hold this one or wait for it. no_slot: no.
    [[nodiscard]] bool has(Slot resource) const {
        return resource < counts_.size() && !counts_[resource].is_zero();
    }
    [[nodiscard]] std::size_t holders(Slot resource) const {
        return resource < counts_.size() ? counts_[resource].holders : 0;
    }
    [[nodiscard]] std::size_t waiters(Slot resource) const {
        return resource < counts_.size() ? counts_[resource].waiters : 0;
    }

  private:
    struct Count {
        std::uint32_t holders = 0, waiters = 0;
        [[nodiscard]] bool is_zero() const { return holders == 0 && waiters == 0; }
    };

    void change(Slot resource, Door door, int holders, int waiters) {
        if (!counts(door)) return;
        if (resource >= counts_.size()) counts_.resize(std::size_t{resource} + 1);
        Count& count = counts_[resource];
        const bool was_zero = count.is_zero();
        count.holders += static_cast<std::uint32_t>(holders);
        count.waiters += static_cast<std::uint32_t>(waiters);
        if (was_zero) ++locks_;
        if (count.is_zero()) --locks_;
    }

    std::optional<Door> door_;
    std::vector<Count> counts_;  // by the slot of the resource
    std::size_t locks_ = 0;
};

}  // namespace holdfast::core
