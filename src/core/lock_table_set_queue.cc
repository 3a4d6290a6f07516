// How a set waits, and how it is granted in its turn. lock_table_set.cc opens with the idea.

#include <algorithm>
#include <utility>

#include "core/lock_table.h"

namespace holdfast::core {

Outcome LockTable::join_queues(AskedSet& asked, std::string members, const AcquireRequest& request,
                               bool is_two_phase) {
    if (!has_room_for_waiters(asked.size())) return Outcome::refuse(Refusal::waiters_max);
    for (std::size_t index = 0; index < asked.size(); ++index) {
        const Slot resource = asked[index].resource;
        if (resource != no_slot &&
            resources_[resource].waiter_count >= limits_.waiters_per_lock_max) {
            return Outcome::refuse(Refusal::waiters_per_lock_max, index);
        }
    }
    if (!has_room_for_locks(asked)) return Outcome::refuse(Refusal::locks_max);
    const bool is_deadlock = closes_cycle(request, asked.data(), asked.size());
    if (is_deadlock && request.on_deadlock == OnDeadlock::refuse) return refuse_deadlock(request);
    make_resources(asked);

    const Slot slot = make_waiter(asked.front().resource, request, is_two_phase);
    waiters_[slot].is_set = true;
    waiters_[slot].notes.set_members(std::move(members));
    std::size_t position = 0;
    for (const Asked& one : asked) {
        const bool is_first = &one == &asked.front();
        const std::size_t place =
            join_queue_as_member(slot, is_first ? slot : waiters_.emplace(), one);
        if (!one.is_free) position = std::max(position, place);
    }
    begin_waiting(slot, request, is_deadlock);
    return {.kind = Outcome::Kind::queued, .waiter = waiters_[slot].id, .position = position};
}

// Puts a record of a waiting set, perhaps the leading one, into the queue of its resource. Returns
// its place in the queue, from 1. NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the leading
// record first
std::size_t LockTable::join_queue_as_member(Slot leader, Slot slot, const Asked& asked) {
    Waiter& record = waiters_[slot];
    record.mode = asked.member.mode;
    record.is_in_turn = asked.is_free;
    if (slot != leader) {
        record.id = waiters_[leader].id;
        record.resource = asked.resource;
        record.kind = asked.member.scope.kind;
        record.set_leader(leader);
        waiters_[leader].notes.others().push_back(slot);
        ++waiter_member_count_;
    }
    if (!asked.is_free) ++waiters_[leader].blocked;
    Resource& resource = resources_[asked.resource];
    if (resource.kind == ResourceKind::inode) {
        watch_blocker(resource, slot, asked.member.scope.range);
    }
    append(waiters_, queue_links, resource.waiters, slot);
    if (++resource.waiter_count == 1) mark_holders(resource);
    door_counts_.add_waiter(asked.resource, waiters_[leader].door);
    return resource.waiter_count;
}

// Whether nothing is in the way of a record of a waiting set. A record for a range that still has
// something in its way watches that.
bool LockTable::has_way(Slot slot) {
    const Waiter& record = waiters_[slot];
    Resource& resource = resources_[record.resource];
    if (record.range_item == no_slot) return has_room_for(resource, record.mode);
    const RangeIndex::Item& item = ranges_[record.range_item];
    const Slot blocker = ranges_.find_conflict(resource.ranges, item.range, item.mode, item.serial);
    if (blocker != no_slot) ranges_.watch(record.range_item, blocker);
    return blocker == no_slot;
}

// A record of a waiting set is the first of its queue, or what it watched is gone. False if the
// record stays where it is.
bool LockTable::hand_on_to_set(Slot slot) {
    Waiter& record = waiters_[slot];
    Waiter& leader = waiters_[record.id.slot];
    if (is_to_end(leader)) {
        const auto [kind, cause] = end_of(leader);
        erase_waiting_set(record.id.slot, kind, cause);
        return true;
    }
    if (!record.is_in_turn) {
        if (!has_way(slot)) return false;
        record.is_in_turn = true;
        --leader.blocked;
    }
    if (leader.blocked > 0) return false;
    grant_waiting_set(record.id.slot);
    return true;
}

// As grant_waiter(), for a set.
void LockTable::grant_waiting_set(Slot waiter_slot) {
    Waiter& waiter = waiters_[waiter_slot];
    visited_ += 1 + waiter.notes.others().size();
    const Slot session = waiter.session;
    leave_identity(waiter_slot);
    const std::vector<Slot> others = std::move(waiter.notes.others());
    touched_.push_back({.resource = waiter.resource, .watchers = {}});
    const Slot slot = make_holder(waiter_slot);
    Lease& lease = leases_[slot];
    lease.notes.others().clear();
    for (const Slot other : others) {
        const Waiter& record = waiters_[other];
        Resource& resource = resources_[record.resource];
        unlink(waiters_, queue_links, resource.waiters, other);
        --resource.waiter_count;
        door_counts_.remove_waiter(record.resource, lease.door);
        touched_.push_back({.resource = record.resource, .watchers = {}});
        add_member(slot,
                   {.member = {.scope = {.kind = record.kind}, .mode = record.mode},
                    .resource = record.resource},
                   record.range_item);
        waiters_.erase(other);
        --waiter_member_count_;
    }
    start_lease(slot, waiter.secret, session);
    share_token(slot);
    emit(EventKind::granted, Cause::request, lease, &waiter);
    waiters_.erase(waiter_slot);
}

// Erases a waiting set that will not be granted. The resources are in touched_ after that.
void LockTable::erase_waiting_set(Slot slot, EventKind kind, Cause cause) {
    Waiter& waiter = waiters_[slot];
    visited_ += 1 + waiter.notes.others().size();
    if (waiter.has_entry) drop_entry(find_entry(waiter));
    count_endless(waiter.ttl, {});
    const auto leave = [this, door = waiter.door](Slot resource) {
        --resources_[resource].waiter_count;
        door_counts_.remove_waiter(resource, door);
        resources_[resource].is_of_idle_door |= idle_door_ == door;
    };
    leave(waiter.resource);
    for (const Slot other : waiter.notes.others()) leave(waiters_[other].resource);
    emit(kind, cause, waiter);
    leave_identity(slot);
    const std::vector<Slot> others = std::move(waiter.notes.others());
    const auto touch = [this](const Waiter& record) {
        touched_.push_back({.resource = record.resource, .watchers = {}});
        if (record.range_item == no_slot) return;
        touched_.back().watchers =
            ranges_.remove(resources_[record.resource].ranges, record.range_item);
    };
    leave_queue(slot);
    touch(waiter);
    waiters_.erase(slot);
    for (const Slot other : others) {
        unlink(waiters_, queue_links, resources_[waiters_[other].resource].waiters, other);
        touch(waiters_[other]);
        waiters_.erase(other);
        --waiter_member_count_;
    }
}

// Lets waiters move up in all queues that a set has changed, or where an earlier part of work was
// over. This may change more queues. Stops when the part is over.
void LockTable::hand_on_touched() {
    for (; touched_begin_ < touched_.size(); ++touched_begin_) {
        if (is_part_over()) {
            next_due_ = std::min(next_due_, now_);
            return;
        }
        ++visited_;
        const Touched next = std::move(touched_[touched_begin_]);
        // Dropped or put aside by now, because it was in the list before.
        if (!resources_.contains(next.resource) || resources_[next.resource].is_idle) continue;
        hand_on_at(next.resource, next.watchers);
    }
    touched_.clear();
    touched_begin_ = 0;
}

}  // namespace holdfast::core
