// Asking for a lock: the checks, the owner that asks again, the grant, and the queue.

#include <utility>

#include "base/check.h"
#include "base/text/utf8.h"
#include "core/lock_table.h"

namespace holdfast::core {

Outcome LockTable::acquire(Time now, const AcquireRequest& request) {
    advance(now);
    return admit(request, false);
}

bool LockTable::wait_on(Time now, WaiterId id, Duration wait) {
    advance(now);
    Waiter* const waiter = find_waiter(id);
    if (waiter == nullptr) return false;
    set_deadline(*waiter, add_saturating(now_, wait));
    return true;
}

bool LockTable::wait_at_most(Time now, WaiterId id, Duration wait) {
    advance(now);
    Waiter* const waiter = find_waiter(id);
    if (waiter == nullptr) return false;
    const Time deadline = add_saturating(now_, wait);
    if (deadline < waiter->deadline) set_deadline(*waiter, deadline);
    return true;
}

void LockTable::set_deadline(Waiter& waiter, Time deadline) {
    waiter.deadline = deadline;
    waiter_deadlines_.disarm(waiter.id.slot);
    arm(waiter_deadlines_, waiter.id.slot, deadline);
}

// What is wrong with a scope under any limits.
Refusal LockTable::find_nonsense(const Scope& scope) {
    if (scope.is_of_inode()) {
        return scope.range.start < scope.range.end ? Refusal::none : Refusal::empty_range;
    }
    return scope.name.empty() ? Refusal::empty_key : Refusal::none;
}

Refusal LockTable::find_fault(const Scope& scope) const {
    if (const Refusal nonsense = find_nonsense(scope); nonsense != Refusal::none) return nonsense;
    if (scope.name.size() > limits_.key_length_max) return Refusal::key_length_max;
    return Refusal::none;
}

Refusal LockTable::find_fault(const AcquireRequest& request) const {
    if (const Refusal fault = find_fault(request.scope); fault != Refusal::none) return fault;
    if (request.owner.name.size() > limits_.owner_length_max) return Refusal::owner_length_max;
    if (request.notes.request_id.size() > limits_.request_id_length_max) {
        return Refusal::request_id_length_max;
    }
    if (request.notes.metadata.size() > limits_.metadata_length_max) {
        return Refusal::metadata_length_max;
    }
    if (request.notes.waiter.size() > limits_.waiter_length_max) {
        return Refusal::waiter_length_max;
    }
    if (request.value.size() > limits_.value_length_max) return Refusal::value_length_max;
    if (!is_valid(request.ttl) || request.grace < Duration::zero() ||
        request.memory < Duration::zero()) {
        return Refusal::ttl_out_of_range;
    }
    return is_valid_limit(request.scope, request.limit) ? Refusal::none : Refusal::permits_max;
}

bool LockTable::is_valid_limit(const Scope& scope, std::uint32_t limit) const {
    return scope.kind != ScopeKind::semaphore || (limit > 0 && limit <= limits_.permits_max);
}

Outcome LockTable::admit(const AcquireRequest& request, bool is_two_phase) {
    if (request.members.size() > 1) return admit_set(request, is_two_phase);
    if (request.scope.kind == ScopeKind::semaphore && request.mode == Mode::shared) {
        AcquireRequest permit = request;
        permit.mode = Mode::exclusive;  // permits have no modes
        return admit(permit, is_two_phase);
    }
    if (const Refusal fault = find_fault(request); fault != Refusal::none) {
        return Outcome::refuse(fault);
    }
    if (request.session && find_session(request.session) == nullptr) {
        return Outcome::refuse(Refusal::unknown_session);
    }
    forget_idle(request.scope, request.owner.door);
    settle(request);
    const ResourceKey key(request.scope, hash_seed_);
    Slot resource = find_resource(key);
    if (request.is_only_kind && !is_in_use(resource) && is_other_kind_in_use(request.scope)) {
        return Outcome::refuse(Refusal::other_kind);
    }
    if (resource != no_slot) {
        if (request.scope.kind == ScopeKind::semaphore &&
            resources_[resource].limit != request.limit) {
            return Outcome::refuse(Refusal::limit_mismatch);
        }
        if (auto outcome = admit_owner(resource, request)) return *outcome;
    }
    if (!base::is_utf8(request.scope.name)) return Outcome::refuse(Refusal::name_not_utf8);
    const bool is_free =
        resource == no_slot || is_free_for(resource, request.scope.range, request.mode);
    if (!is_free && request.wait <= Duration::zero()) {
        Outcome outcome = refuse_held(resource, request.scope.range, request.mode);
        outcome.is_queue_full = is_queue_full(resource, request.owner.door);
        return outcome;
    }
    if (!has_room_for_leases(1)) return Outcome::refuse(Refusal::leases_max);
    if (is_one_endless_too_many({}, request.ttl)) {
        return Outcome::refuse(Refusal::endless_leases_max);
    }
    if (const Refusal fault = find_door_fault(resource, request.owner.door);
        fault != Refusal::none) {
        return Outcome::refuse(fault);
    }
    if (!is_free) return join_queue(resource, request, is_two_phase);
    if (resource == no_slot) resource = make_room_and_resource(key, request.limit);
    if (resource == no_slot) return Outcome::refuse(Refusal::locks_max);
    wake_idle(resource);
    grant(resource, request);
    return told(Outcome::Kind::granted);
}

bool LockTable::is_in_use(Slot resource) const {
    if (resource == no_slot) return false;
    return resources_[resource].holder_count > 0 || resources_[resource].waiter_count > 0;
}

bool LockTable::is_other_kind_in_use(const Scope& scope) const {
    if (scope.kind == ScopeKind::semaphore) {
        return is_in_use(find_resource(ResourceKey(Scope::named(scope.name), hash_seed_)));
    }
    if (scope.kind != ScopeKind::named || semaphore_count_ == 0) return false;
    return is_in_use(find_resource(ResourceKey(Scope::semaphore(scope.name), hash_seed_)));
}

// Whether there may be so many more records of leases. A set has one for each of its locks. Waiters
// count, because they become leases.
bool LockTable::has_room_for_leases(std::size_t records) const {
    return leases_.size() - lapsed_count_ + waiters_.size() + records <= limits_.leases_max;
}

bool LockTable::has_room_for_waiters(std::size_t records) const {
    return waiters_.size() + records <= limits_.waiters_max;
}

// Whether no more requests of this door may wait for a lock.
bool LockTable::is_queue_full(Slot resource, Door door) const {
    if (resources_[resource].waiter_count >= limits_.waiters_per_lock_max) return true;
    return door_counts_.counts(door) &&
           door_counts_.waiters(resource) >= door_limits_->waiters_per_lock_max;
}

// Whether the lock would be one too many for the clients of this door: to hold, or to wait for.
Refusal LockTable::find_door_fault(Slot resource, Door door) const {
    if (!door_counts_.counts(door) || door_counts_.has(resource)) return Refusal::none;
    return door_counts_.locks() >= door_limits_->locks_max ? Refusal::locks_max : Refusal::none;
}

bool LockTable::is_valid(Duration ttl) const {
    return ttl == endless || (ttl >= limits_.ttl_min && ttl <= limits_.ttl_max);
}

// Whether a lease that gets this TTL would be one more without an end than there may be.
bool LockTable::is_one_endless_too_many(Duration ttl_before, Duration ttl) const {
    return ttl == endless && ttl_before != endless && endless_count_ >= limits_.endless_leases_max;
}

// A lease or waiter has another TTL than before. Zero: it did not exist, or is about to go.
void LockTable::count_endless(Duration ttl_before, Duration ttl) {
    if (ttl_before == endless) --endless_count_;
    if (ttl == endless) ++endless_count_;
}

// If the owner has a lease in grace, it gets the lock again. If it holds the lock and wants to, it
// renews.
std::optional<Outcome> LockTable::admit_owner(Slot slot, const AcquireRequest& request) {
    if (!request.renew_own && resources_[slot].grace_count == 0) return std::nullopt;
    const Slot holder = find_own(slot, {.owner = request.owner,
                                        .scope = request.scope,
                                        .held = request.renew_own,
                                        .in_grace = true});
    // All leases on one scope have one mode.
    if (holder == no_slot || leases_[holder].mode != request.mode) return std::nullopt;
    const Lease& lease = leases_[holder];
    if (is_one_endless_too_many(lease.ttl, request.ttl)) {
        return Outcome::refuse(Refusal::endless_leases_max);
    }
    if (lease.state == LeaseState::grace) {
        reclaim(holder, request);
        return told(Outcome::Kind::granted);
    }
    LeaseTerms terms = request.terms();
    terms.is_transient = lease.is_transient && request.is_transient;
    restart_lease(holder, add_saturating(now_, request.ttl), terms);
    return told(Outcome::Kind::renewed);
}

// A lease in grace becomes a new lease of the same owner in the same record, so that no waiter can
// be granted in between.
void LockTable::reclaim(Slot slot, const AcquireRequest& request) {
    Lease& lease = leases_[slot];
    emit(EventKind::grace_ended, Cause::request, lease);
    forget_own(slot);
    --resources_[lease.resource].grace_count;
    lease.state = LeaseState::held;
    // As after any other grant, the name of an earlier owner is forgotten.
    drop_lapsed(lease.resource);
    previous_owner_ = lease.owner;
    lease.notes.replace(request);
    count_endless(lease.ttl, request.ttl);
    lease.set_terms(request.terms());
    lease.is_marked = false;
    start_lease(slot, request.secret, request.session ? request.session.slot : no_slot);
    // It is the youngest of the holders now.
    SlotList& holders = resources_[lease.resource].holders;
    unlink(leases_, holder_links, holders, slot);
    append(leases_, holder_links, holders, slot);
    if (lease.is_set) reclaim_members(slot);
    emit(EventKind::granted, Cause::request, lease);
}

// Whether one more holder in this mode would be possible if there were no waiters.
bool LockTable::has_room_for(const Resource& resource, Mode mode) const {
    if (resource.holder_count == 0) return true;
    if (resource.kind == ResourceKind::semaphore) return resource.holder_count < resource.limit;
    return !conflicts(mode, leases_[resource.holders.first].mode);
}

bool LockTable::is_free_for(Slot slot, const Range& range, Mode mode) const {
    const Resource& resource = resources_[slot];
    if (resource.kind != ResourceKind::inode) {
        return resource.waiter_count == 0 && has_room_for(resource, mode);
    }
    return ranges_.find_conflict(resource.ranges, range, mode, after_everybody) == no_slot;
}

Outcome LockTable::join_queue(Slot resource_slot, const AcquireRequest& request,
                              bool is_two_phase) {
    Resource& resource = resources_[resource_slot];
    if (!has_room_for_waiters(1)) return Outcome::refuse(Refusal::waiters_max);
    if (is_queue_full(resource_slot, request.owner.door)) {
        return Outcome::refuse(Refusal::waiters_per_lock_max);
    }
    const Asked asked{.member = {.scope = request.scope, .mode = request.mode},
                      .resource = resource_slot,
                      .is_free = false};
    const bool is_deadlock = closes_cycle(request, &asked, 1);
    if (is_deadlock && request.on_deadlock == OnDeadlock::refuse) return refuse_deadlock(request);
    const Slot slot = make_waiter(resource_slot, request, is_two_phase);
    if (resource.kind == ResourceKind::inode) {
        watch_blocker(resource, slot, request.scope.range);
    }
    append(waiters_, queue_links, resource.waiters, slot);
    if (++resource.waiter_count == 1) mark_holders(resource);
    door_counts_.add_waiter(resource_slot, request.owner.door);
    begin_waiting(slot, request, is_deadlock);
    return {.kind = Outcome::Kind::queued,
            .waiter = waiters_[slot].id,
            .position = resource.waiter_count};
}

// Returns a new waiter that is in no queue yet.
Slot LockTable::make_waiter(Slot resource, const AcquireRequest& request, bool is_two_phase) {
    const Slot slot = waiters_.emplace();
    Waiter& waiter = waiters_[slot];
    fill(waiter, resource, request);
    count_endless({}, request.ttl);
    waiter.has_entry = is_two_phase;
    waiter.id = {.serial = next_serial_++, .slot = slot};
    waiter.secret = request.secret;
    waiter.by = by_;
    waiter.since = now_;
    waiter.deadline = add_saturating(now_, request.wait);
    return slot;
}

// REQUIRES: the waiter is in its queues.
void LockTable::begin_waiting(Slot slot, const AcquireRequest& request, bool is_deadlock) {
    Waiter& waiter = waiters_[slot];
    if (request.session) {
        waiter.session = request.session.slot;
        append(waiters_, session_waiter_links, sessions_[waiter.session].waiters, slot);
        ++sessions_[waiter.session].waiter_count;
    }
    enter_identity(slot);
    arm(waiter_deadlines_, slot, waiter.deadline);
    emit(EventKind::queued, Cause::request, waiter);
    if (is_deadlock) tell_of_deadlock(request);
}

// Adds a new waiter to the ranges of an inode. It watches the youngest item that is in its way, if
// any.
void LockTable::watch_blocker(Resource& resource, Slot slot, const Range& range) {
    Waiter& waiter = waiters_[slot];
    const Slot blocker =
        ranges_.find_conflict(resource.ranges, range, waiter.mode, after_everybody);
    waiter.range_item = ranges_.add(resource.ranges, {.range = range,
                                                      .serial = waiter.id.serial,
                                                      .record = slot,
                                                      .mode = waiter.mode,
                                                      .is_waiter = true});
    if (blocker != no_slot) ranges_.watch(waiter.range_item, blocker);
}

// Writes what was asked for into a new record.
void LockTable::fill(Claim& claim, Slot resource, const AcquireRequest& request) {
    claim.owner = request.owner.name;
    claim.notes = OwnedNotes(request);
    claim.set_terms(request.terms());
    claim.resource = resource;
    claim.door = request.owner.door;
    claim.kind = request.scope.kind;
    claim.mode = request.mode;
}

// Grants a request that did not have to wait.
void LockTable::grant(Slot resource, const AcquireRequest& request) {
    note_previous_owner(resource);
    const Slot slot = leases_.emplace();
    Lease& lease = leases_[slot];
    fill(lease, resource, request);
    count_endless({}, request.ttl);
    add_holder(slot, request.scope.range);
    start_lease(slot, request.secret, request.session ? request.session.slot : no_slot);
    emit(EventKind::granted, Cause::request, lease);
}

void LockTable::grant_waiter(Slot waiter_slot) {
    ++visited_;
    const Waiter& waiter = waiters_[waiter_slot];
    const Slot session = waiter.session;
    const Slot slot = make_holder(waiter_slot);
    Lease& lease = leases_[slot];
    start_lease(slot, waiter.secret, session);
    leave_identity(waiter_slot);
    emit(EventKind::granted, Cause::request, lease, &waiter);
    waiters_.erase(waiter_slot);
}

// Moves a waiter from its queue to the holders of its resource. Returns its lease, which
// start_lease() must start. What is left of the waiter is only good for the event of the grant.
Slot LockTable::make_holder(Slot waiter_slot) {
    Waiter& waiter = waiters_[waiter_slot];
    leave_queue(waiter_slot);
    --resources_[waiter.resource].waiter_count;
    door_counts_.remove_waiter(waiter.resource, waiter.door);
    note_previous_owner(waiter.resource);
    if (waiter.has_entry) {
        Enqueued& entry = entries_[find_entry(waiter)];
        entry.waiter = no_slot;
        entry.fence = Fence{next_fence_};
    }
    const Slot slot = leases_.emplace();
    Lease& lease = leases_[slot];
    static_cast<Claim&>(lease) = std::move(static_cast<Claim&>(waiter));
    lease.session = no_slot;
    add_holder(slot, {});
    return slot;
}

// Remembers the last owner for the outcome of the grant that follows, and forgets its lease.
void LockTable::note_previous_owner(Slot resource) {
    previous_owner_.clear();
    const Slot lapsed = resources_[resource].lapsed;
    if (lapsed == no_slot) return;
    previous_owner_ = leases_[lapsed].owner;
    drop_lapsed(resource);
}

// Adds a lease to the holders of its resource. start_lease() gives it its token, its times and its
// session. `range` is for an inode; a lease that was a waiter has its range already.
void LockTable::add_holder(Slot slot, const Range& range) {
    Lease& lease = leases_[slot];
    Resource& resource = resources_[lease.resource];
    append(leases_, holder_links, resource.holders, slot);
    ++resource.holder_count;
    door_counts_.add_holder(lease.resource, leases_[lead(slot)].door);
    if (resource.kind != ResourceKind::inode) return;
    if (lease.range_item == no_slot) {
        lease.range_item = ranges_.add(
            resource.ranges, {.range = range, .serial = next_serial_++, .mode = lease.mode});
    }
    ranges_.become_holder(resource.ranges, lease.range_item, slot);
}

// Gives a lease, which is among the holders and has its terms, its token, its times and its session.
void LockTable::start_lease(Slot slot, Secret secret, Slot session) {
    CHECK(next_fence_ <= as_number(fence_max));
    Lease& lease = leases_[slot];
    lease.token = {.fence = Fence{next_fence_++}, .secret = secret};
    lease.is_restored = false;
    lease.renewals = 0;
    lease.acquired_at = now_;
    lease.expires_at = add_saturating(now_, lease.ttl);
    leases_by_fence_.insert({.slot = slot, .hash = hash_of(lease.token.fence)});
    arm(lease_deadlines_, slot, lease.expires_at);
    if (session != no_slot) {
        lease.session = session;
        append(leases_, session_lease_links, sessions_[session].leases, slot);
        ++sessions_[session].lease_count;
    }
    ++resources_[lease.resource].version;
    // On an inode, others may wait that do not wait for this range.
    if (resources_[lease.resource].waiter_count > 0) mark_holder(slot);
    note_own(slot);
}

}  // namespace holdfast::core
