// What is in the way of whom.

#include <algorithm>

#include "base/check.h"
#include "core/lock_table.h"

namespace holdfast::core {

// Whether the request would be refused is not looked at: for a name, semaphore or path, the result is
// good only if it would be. A holder of something else, for which a waiter ahead waits, is not what
// is in the way: the client may not even know of it.
LockTable::InTheWay LockTable::find_in_the_way(const Resource& resource, const Range& range,
                                               Mode mode) const {
    if (resource.kind == ResourceKind::inode) {
        const Slot holder = ranges_.find_holder(resource.ranges, range, mode);
        if (holder != no_slot) return {.lease = ranges_[holder].record};
        const Slot item = ranges_.find_conflict(resource.ranges, range, mode, after_everybody);
        if (item == no_slot) return {};
        if (!ranges_[item].is_waiter) return {.lease = ranges_[item].record};
        // The waiter may wait for a shared holder that the request would not exclude.
        const Slot watched = ranges_[item].watched;
        if (watched != no_slot && !ranges_[watched].is_waiter &&
            ranges_[watched].range.overlaps(range)) {
            return {.lease = ranges_[watched].record};
        }
        return {.waiter = ranges_[item].record};
    }
    const Slot first = resource.waiters.first;
    // The first waiter waits for the holders, unless it is a set that waits for another lock.
    const bool is_for_holders =
        !has_room_for(resource, mode) || first == no_slot || !waiters_[first].is_in_turn;
    const Slot holder =
        is_behind() ? first_not_over(resource.holders.first) : resource.holders.first;
    if (holder == no_slot || !is_for_holders) return {.waiter = first};
    return {.lease = holder};
}

std::optional<Outcome> LockTable::find_in_the_way(const Scope& scope, Mode mode) const {
    const Slot slot = find_resource(scope);
    if (slot == no_slot || is_free_for(slot, scope.range, mode)) return std::nullopt;
    const InTheWay way = find_in_the_way(resources_[slot], scope.range, mode);
    // While the table is behind, what looks taken may be free.
    const bool is_free =
        way.lease == no_slot ? way.waiter == no_slot : is_over(leases_[lead(way.lease)]);
    if (is_free) return std::nullopt;
    return refuse_held(slot, scope.range, mode);
}

// The refusal names a holder that is in the way or, if there is none, a waiter.
Outcome LockTable::refuse_held(Slot slot, const Range& range, Mode mode) const {
    const Resource& resource = resources_[slot];
    const InTheWay way = find_in_the_way(resource, range, mode);
    Outcome outcome = Outcome::refuse(Refusal::held);
    outcome.queue_length = resource.waiter_count;
    if (way.lease == no_slot) {
        outcome.is_behind_waiter = true;
        if (way.waiter != no_slot) describe_waiter_ahead(way.waiter, outcome.lease);
        return outcome;
    }
    describe(leases_[way.lease], resource, outcome.lease);
    if (outcome.lease.state == LeaseState::grace) outcome.refusal = Refusal::in_grace;
    return outcome;
}

void LockTable::describe_waiter_ahead(Slot slot, LeaseView& seen) const {
    const Waiter& record = waiters_[slot];
    const Waiter& waiter = waiters_[record.id.slot];
    seen.scope = scope_of(record);
    seen.owner = {.door = waiter.door, .name = waiter.owner};
    seen.mode = record.mode;
    seen.acquired_at = waiter.since;
    seen.ttl = endless;
    seen.expires_at = seen.grace_until = Time::max();
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
    return blocked == others.end() ? slot
                                   : *blocked;  // then all are in their turn: it is granted soon
}

}  // namespace holdfast::core
