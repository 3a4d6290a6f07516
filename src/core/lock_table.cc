#include "core/lock_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::core {

LockTable::LockTable(const TableOptions& options)
    : limits_(options.limits),
      door_limits_(options.door_limits),
      idle_retention_(options.idle_retention),
      idle_door_(options.idle_door),
      hash_seed_(options.hash_seed),
      few_holders_max_(options.few_holders_max),
      next_fence_(options.first_fence),
      next_serial_(options.first_serial),
      ranges_(options.hash_seed),
      part_visits_(std::max<std::uint64_t>(options.visits_max / 4, 1)),
      settled_max_(std::max<std::uint64_t>(options.visits_max / 8, 1)) {
    if (door_limits_) door_counts_.count_for(door_limits_->door);
}

// One part of what is due, and of what earlier parts have left.
void LockTable::run_due() {
    const std::string_view by = std::exchange(by_, {});  // nobody has asked for it
    // Waits first: a waiter whose time is over must not be granted what becomes free at the same
    // moment.
    if (run_due_waits()) {
        hand_on_touched();
        if (touched_.empty() && run_due_leases()) {
            while (idle_.first != no_slot && idle_ends_at() <= now_ && !is_part_over()) {
                ++visited_;
                drop_resource(idle_.first);
            }
        }
    }
    by_ = by;
    next_due_ = next_deadline().value_or(Time::max());
    if (!changes_.empty()) changes_.begin_step();  // what was due, and then the request
}

// False if the part is over before all waits that are due have ended.
bool LockTable::run_due_waits() {
    while (const auto due = waiter_deadlines_.top()) {
        if (due->deadline > now_) break;
        if (is_part_over()) return false;
        changes_.begin_step();
        remove_waiter(due->slot, EventKind::wait_timed_out, Cause::none);
    }
    return true;
}

// The same for leases, graces and memories.
bool LockTable::run_due_leases() {
    while (const auto due = lease_deadlines_.top()) {
        if (due->deadline > now_) break;
        if (is_part_over()) return false;
        ++visited_;
        for (const Slot next : lease_deadlines_.next_slots()) leases_.expect(next);
        if (!leases_.contains(due->slot)) {  // the lease was released before
            lease_deadlines_.disarm(due->slot);
            continue;
        }
        const Time deadline = leases_[due->slot].deadline();
        if (deadline == Time::max()) {  // the lease was renewed without an end
            lease_deadlines_.disarm(due->slot);
        } else if (deadline > due->deadline) {
            lease_deadlines_.postpone_top(deadline);
        } else {
            changes_.begin_step();
            expire(due->slot);
        }
    }
    return true;
}

// Makes run_due() look at the record at `deadline`, unless that is never.
void LockTable::arm(DeadlineHeap& heap, Slot slot, Time deadline) {
    if (deadline == Time::max()) return;
    heap.arm(slot, deadline);
    next_due_ = std::min(next_due_, deadline);
}

// When the resource that is idle for the longest time is dropped. REQUIRES: there is one.
Time LockTable::idle_ends_at() const {
    return add_saturating(resources_[idle_.first].idle_since, idle_retention_);
}

std::optional<Time> LockTable::next_deadline() const {
    std::optional<Time> next;
    const auto consider = [&next](Time time) { next = next ? std::min(*next, time) : time; };
    if (const auto due = waiter_deadlines_.top()) consider(due->deadline);
    if (const auto due = lease_deadlines_.top()) consider(due->deadline);
    if (idle_.first != no_slot) consider(idle_ends_at());
    if (!touched_.empty()) consider(now_);
    return next;
}

TableCounts LockTable::counts() const {
    return {.locks = resources_.size(),
            .idle = idle_count_,
            .leases = leases_by_fence_.size(),
            .waiters = waiters_.size() - waiter_member_count_,
            .sessions = sessions_.size(),
            .entries = entries_.size()};
}

Slot LockTable::find_resource(const Scope& scope) const {
    return find_resource(ResourceKey(scope, hash_seed_));
}

Slot LockTable::find_resource(const ResourceKey& key) const {
    return resources_by_key_.find(key.hash(), [&](Slot slot) {
        const Resource& resource = resources_[slot];
        return resource.kind == key.kind() && resource.key.view() == key.text();
    });
}

// A new resource, or no_slot at the limit of locks.
Slot LockTable::make_room_and_resource(const ResourceKey& key, std::uint32_t limit) {
    if (resources_.size() >= limits_.locks_max) {
        if (idle_.first == no_slot) return no_slot;
        drop_resource(idle_.first);
        if (resources_.size() >= limits_.locks_max) return no_slot;  // restored under other limits
    }
    return make_resource(key, limit);
}

Slot LockTable::make_resource(const ResourceKey& key, std::uint32_t limit) {
    const Slot slot = resources_.emplace(key);
    if (key.kind() == ResourceKind::semaphore) {
        resources_[slot].limit = limit;
        ++semaphore_count_;
    }
    resources_by_key_.insert({.slot = slot, .hash = key.hash()});
    return slot;
}

// Drops a resource that nobody holds, wants or remembers, or puts it among the idle ones.
void LockTable::retire_if_unused(Slot slot) {
    Resource& resource = resources_[slot];
    if (resource.holder_count > 0 || resource.waiter_count > 0 || resource.lapsed != no_slot)
        return;
    if (idle_retention_ <= Duration::zero() || (idle_door_ && !resource.is_of_idle_door)) {
        drop_resource(slot);
        return;
    }
    CHECK(!resource.is_idle);
    resource.is_idle = true;
    resource.idle_since = now_;
    append(resources_, idle_links, idle_, slot);
    ++idle_count_;
    next_due_ = std::min(next_due_, idle_ends_at());
}

void LockTable::wake_idle(Slot slot) {
    Resource& resource = resources_[slot];
    if (!resource.is_idle) return;
    unlink(resources_, idle_links, idle_, slot);
    resource.is_idle = false;
    --idle_count_;
}

// Forgets an idle resource that is kept for clients of another door than the one that asks.
void LockTable::forget_idle(const Scope& scope, Door asking) {
    if (!has_idle_of_others(asking)) return;
    const Slot slot = find_resource(scope);
    if (slot != no_slot && resources_[slot].is_idle) drop_resource(slot);
}

void LockTable::drop_resource(Slot slot) {
    wake_idle(slot);
    resources_by_key_.erase({.slot = slot, .hash = resources_[slot].hash});
    if (resources_[slot].kind == ResourceKind::semaphore) --semaphore_count_;
    resources_.erase(slot);
}

// The largest number of entries in the heap of deadlines: one for every lease, and as many again of
// leases that have ended.
std::size_t LockTable::lease_deadlines_max() const {
    constexpr std::size_t few = 64;
    return leases_.size() == 0 ? 0 : 2 * leases_.size() + few;
}

// The entry of a lease that has ended stays in the heap of deadlines until it comes to the top. When
// many entries are of such leases, some are removed with each lease that ends.
void LockTable::drop_lease(Slot slot) {
    constexpr std::size_t few = 32;
    count_endless(leases_[slot].ttl, {});
    leases_.erase(slot);
    const std::size_t leases = leases_.size();
    if (leases == 0) {
        lease_deadlines_.clear();
    } else if (lease_deadlines_.size() > leases + leases / 2 + few) {
        lease_deadlines_.sweep([this](Slot lease) { return leases_.contains(lease); });
    }
}

Slot LockTable::find_lease(Fence fence) const {
    return leases_by_fence_.find(hash_of(fence),
                                 [&](Slot slot) { return leases_[slot].token.fence == fence; });
}

// Also one that is ending.
Session* LockTable::find_any_session(SessionId id) {
    if (!id || !sessions_.contains(id.slot) || sessions_[id.slot].id != id) return nullptr;
    return &sessions_[id.slot];
}

Session* LockTable::find_session(SessionId id) {
    Session* const session = find_any_session(id);
    return session == nullptr || session->is_ending ? nullptr : session;
}

Waiter* LockTable::find_waiter(WaiterId id) {
    if (!waiters_.contains(id.slot) || waiters_[id.slot].id != id) return nullptr;
    return &waiters_[id.slot];
}

}  // namespace holdfast::core
