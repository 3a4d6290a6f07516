// What is in the way of whom.

#include <algorithm>

#include "base/check.h"
#include "core/lock_table.h"

namespace holdfast::core {

// A waiter in the way itself waits for a holder.
Slot LockTable::holder_in_the_way(const Resource& resource, const Range& range, Mode mode) const {
    if (resource.kind != ResourceKind::inode) {
        if (!has_room_for(resource, mode)) return resource.holders.first;
        const Slot first = resource.waiters.first;
        return first == no_slot ? no_slot : holder_behind(first);
    }
    const Slot item = ranges_.find_conflict(resource.ranges, range, mode, after_everybody);
    if (item == no_slot) return no_slot;
    return ranges_[item].is_waiter ? holder_behind(ranges_[item].record) : ranges_[item].record;
}

// A holder that the waiter waits for in the end. Each step leads to an earlier waiter, or to
// another record of the same set, for which there is no second such step.
Slot LockTable::holder_behind(Slot slot) const {
    while (true) {
        const Waiter& record = waiters_[blocked_record(slot)];
        const Resource& resource = resources_[record.resource];
        if (record.range_item != no_slot) {
            const RangeIndex::Item& blocker = ranges_[ranges_[record.range_item].watched];
            if (!blocker.is_waiter) return blocker.record;
            slot = blocker.record;
        } else if (record.previous != no_slot) {
            slot = resource.waiters.first;
        } else {
            return resource.holders.first;
        }
    }
}

std::optional<LeaseView> LockTable::find_in_the_way(const Scope& scope, Mode mode) const {
    const Slot slot = find_resource(scope);
    if (slot == no_slot) return std::nullopt;
    const Resource& resource = resources_[slot];
    const bool is_free = resource.kind != ResourceKind::inode && resource.waiter_count == 0 &&
                         has_room_for(resource, mode);
    const Slot holder = is_free ? no_slot : holder_in_the_way(resource, scope.range, mode);
    return holder == no_slot ? std::nullopt : std::optional(view(leases_[holder]));
}

// The refusal names a holder that is in the way.
Outcome LockTable::refuse_held(Slot slot, const Range& range, Mode mode) const {
    const Resource& resource = resources_[slot];
    const Slot holder = holder_in_the_way(resource, range, mode);
    Outcome outcome = with_lease(Outcome::Kind::refused, holder);
    outcome.refusal = outcome.lease.state == LeaseState::grace ? Refusal::in_grace : Refusal::held;
    outcome.queue_length = resource.waiter_count;
    return outcome;
}

// The nearest earlier waiter that is in the way of this one, if any. `last_exclusive` is the last
// exclusive waiter before it.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the waiter first
Slot LockTable::waiter_in_the_way(Slot slot, Slot last_exclusive) const {
    const Waiter& waiter = waiters_[slot];
    if (waiter.mode == Mode::exclusive || last_exclusive != no_slot) {
        return waiter.mode == Mode::exclusive ? waiter.previous : last_exclusive;
    }
    // Only shared waiters are ahead. If no holder is in the way, one of these waits for another
    // scope.
    return has_room_for(resources_[waiter.resource], Mode::shared) ? waiter.previous : no_slot;
}

// A record of the same waiter that has something in its way: the record itself or, if that is in
// its turn, another one of its set.
Slot LockTable::blocked_record(Slot slot) const {
    if (!waiters_[slot].is_in_turn) return slot;
    const Slot leader = waiters_[slot].id.slot;
    if (!waiters_[leader].is_in_turn) return leader;
    const auto& others = waiters_[leader].notes.others();
    const auto blocked = std::find_if(others.begin(), others.end(),
                                      [this](Slot other) { return !waiters_[other].is_in_turn; });
    CHECK(blocked != others.end());
    return *blocked;
}

}  // namespace holdfast::core
