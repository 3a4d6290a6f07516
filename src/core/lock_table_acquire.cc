// Asking for a lock: the checks, the owner who comes back, the grant, and the queue.

#include "base/check.h"
#include "core/containers/slot_list.h"
#include "core/lock_table.h"
#include "core/values/resource_key.h"

namespace holdfast::core {

namespace {

// Everybody who is there came before a request that has just arrived.
constexpr std::uint64_t after_everybody = UINT64_MAX;

}  // namespace

Outcome LockTable::acquire(Time now, const AcquireRequest& request) {
    advance(now);
    return admit(request, false);
}

bool LockTable::wait_on(Time now, WaiterId id, Duration wait) {
    advance(now);
    if (!waiters_.contains(id.slot) || waiters_[id.slot].id != id) return false;
    Waiter& waiter = waiters_[id.slot];
    waiter.deadline = add_saturating(now_, wait);
    waiter_deadlines_.disarm(id.slot);
    if (waiter.deadline != Time::max()) arm(waiter_deadlines_, id.slot, waiter.deadline);
    return true;
}

bool LockTable::wait_at_most(Time now, WaiterId id, Duration wait) {
    advance(now);
    if (!waiters_.contains(id.slot) || waiters_[id.slot].id != id) return false;
    if (waiters_[id.slot].deadline <= add_saturating(now_, wait)) return true;
    return wait_on(now, id, wait);
}

Refusal LockTable::find_fault(const AcquireRequest& request) const {
    const Scope& scope = request.scope;
    if (scope.is_of_inode() ? scope.range.start >= scope.range.end : scope.name.empty()) {
        return scope.is_of_inode() ? Refusal::empty_range : Refusal::empty_key;
    }
    if (scope.name.size() > limits_.key_length_max) return Refusal::key_length_max;
    if (request.owner.name.size() > limits_.owner_length_max) return Refusal::owner_length_max;
    if (request.notes.request_id.size() > limits_.request_id_length_max) {
        return Refusal::request_id_length_max;
    }
    if (request.notes.metadata.size() > limits_.metadata_length_max) {
        return Refusal::metadata_length_max;
    }
    if (request.ttl < limits_.ttl_min || request.ttl > limits_.ttl_max ||
        request.grace < Duration::zero() || request.memory < Duration::zero()) {
        return Refusal::ttl_out_of_range;
    }
    const bool is_semaphore = scope.kind == ScopeKind::semaphore;
    if (is_semaphore && (request.limit == 0 || request.limit > limits_.permits_max)) {
        return Refusal::permits_max;
    }
    return Refusal::none;
}

Outcome LockTable::admit(const AcquireRequest& request, bool is_two_phase) {
    if (request.scope.kind == ScopeKind::semaphore && request.mode == Mode::shared) {
        AcquireRequest permit = request;
        permit.mode = Mode::exclusive;  // a permit is a permit
        return admit(permit, is_two_phase);
    }
    if (const Refusal fault = find_fault(request); fault != Refusal::none) {
        return Outcome::refuse(fault);
    }
    if (request.session && find_session(request.session) == nullptr) {
        return Outcome::refuse(Refusal::unknown_session);
    }
    const ResourceKey key(request.scope, hash_seed_);
    Slot resource = find_resource(key);
    if (resource != no_slot) {
        if (request.scope.kind == ScopeKind::semaphore &&
            resources_[resource].limit != request.limit) {
            return Outcome::refuse(Refusal::limit_mismatch);
        }
        if (auto outcome = take_own(resource, request)) return *outcome;
    }
    const bool is_free = resource == no_slot || is_free_for(resource, request);
    if (!is_free && request.wait <= Duration::zero()) return refuse_held(resource, request);
    if (has_all_leases()) return Outcome::refuse(Refusal::leases_max);
    if (!is_free) return join_queue(resource, request, is_two_phase);
    if (resource == no_slot) resource = make_resource(key, request.limit);
    if (resource == no_slot) return Outcome::refuse(Refusal::locks_max);
    wake_idle(resource);
    return granted(grant(resource, request, nullptr, no_slot));
}

// Whether there are as many leases as there may be, those that waiters will have included.
bool LockTable::has_all_leases() const {
    return leases_.size() - lapsed_count_ + waiters_.size() >= limits_.leases_max;
}

// The owner is back: it renews what it holds, or takes again what is kept for it.
std::optional<Outcome> LockTable::take_own(Slot slot, const AcquireRequest& request) {
    const Resource& resource = resources_[slot];
    if (!request.renew_own && resource.grace_count == 0) return std::nullopt;
    for (Slot holder = resource.holders.first; holder != no_slot; holder = leases_[holder].next) {
        const LeaseView lease = view(leases_[holder]);
        if (lease.owner != request.owner || lease.mode != request.mode ||
            lease.scope != request.scope) {
            continue;
        }
        if (lease.state == LeaseState::grace) {
            reclaim(holder, request);
            return granted(holder);
        }
        if (request.renew_own) {
            restart_lease(holder, add_saturating(now_, request.ttl),
                          {request.ttl, request.grace, request.memory,
                           lease.is_transient && request.is_transient});
            return with_lease(Outcome::Kind::renewed, holder);
        }
    }
    return std::nullopt;
}

// A lease in grace becomes a new one of the same owner in the same place: nobody can come in
// between.
void LockTable::reclaim(Slot slot, const AcquireRequest& request) {
    Lease& lease = leases_[slot];
    emit(EventKind::grace_ended, Cause::request, lease);
    --resources_[lease.resource].grace_count;
    lease.state = LeaseState::held;
    // The lock is taken: whoever had it before is forgotten, as after any other grant.
    drop_lapsed(lease.resource);
    previous_owner_ = lease.owner;
    start_lease(slot, request);
    // It is the youngest of the holders now.
    SlotList& holders = resources_[lease.resource].holders;
    unlink(leases_, holder_links, holders, slot);
    append(leases_, holder_links, holders, slot);
    emit(EventKind::granted, Cause::request, lease);
}

// Whether one more holder in this mode fits beside those there are, waiters not considered.
bool LockTable::has_room_for(const Resource& resource, Mode mode) const {
    if (resource.holder_count == 0) return true;
    if (resource.kind == ResourceKind::semaphore) return resource.holder_count < resource.limit;
    return !conflicts(mode, leases_[resource.holders.first].mode);
}

bool LockTable::is_free_for(Slot slot, const AcquireRequest& request) const {
    const Resource& resource = resources_[slot];
    if (resource.kind != ResourceKind::inode) {
        return resource.waiter_count == 0 && has_room_for(resource, request.mode);
    }
    return ranges_.find_conflict(resource.ranges, request.scope.range, request.mode,
                                 after_everybody) == no_slot;
}

// Names a holder that is in the way; behind a waiter in the way there is always one.
Outcome LockTable::refuse_held(Slot slot, const AcquireRequest& request) const {
    const Resource& resource = resources_[slot];
    Slot holder = resource.holders.first;
    if (resource.kind == ResourceKind::inode) {
        Slot item = ranges_.find_conflict(resource.ranges, request.scope.range, request.mode,
                                          after_everybody);
        while (ranges_[item].is_waiter) item = ranges_[item].watched;
        holder = ranges_[item].record;
    }
    Outcome outcome = with_lease(Outcome::Kind::refused, holder);
    outcome.refusal = outcome.lease.state == LeaseState::grace ? Refusal::in_grace : Refusal::held;
    outcome.queue_length = resource.waiter_count;
    return outcome;
}

Outcome LockTable::join_queue(Slot resource_slot, const AcquireRequest& request,
                              bool is_two_phase) {
    Resource& resource = resources_[resource_slot];
    if (waiters_.size() >= limits_.waiters_max) return Outcome::refuse(Refusal::waiters_max);
    if (resource.waiter_count >= limits_.waiters_per_lock_max) {
        return Outcome::refuse(Refusal::waiters_per_lock_max);
    }
    const Slot slot = waiters_.emplace(Waiter{.owner = std::string(request.owner.name),
                                              .notes = KeptNotes(request.notes),
                                              .secret = request.secret,
                                              .ttl = request.ttl,
                                              .grace = request.grace,
                                              .memory = request.memory,
                                              .since = now_,
                                              .deadline = add_saturating(now_, request.wait),
                                              .resource = resource_slot,
                                              .door = request.owner.door,
                                              .kind = request.scope.kind,
                                              .mode = request.mode,
                                              .is_two_phase = is_two_phase,
                                              .is_transient = request.is_transient});
    Waiter& waiter = waiters_[slot];
    waiter.id = {.serial = next_serial_++, .slot = slot};
    if (resource.kind == ResourceKind::inode) {
        watch_blocker(resource, slot, request.scope.range);
    }
    append(waiters_, queue_links, resource.waiters, slot);
    ++resource.waiter_count;
    if (request.session) {
        waiter.session = request.session.slot;
        append(waiters_, session_waiter_links, sessions_[waiter.session].waiters, slot);
        ++sessions_[waiter.session].waiter_count;
    }
    if (waiter.deadline != Time::max()) arm(waiter_deadlines_, slot, waiter.deadline);
    emit(EventKind::queued, Cause::request, waiter);
    return {.kind = Outcome::Kind::queued, .waiter = waiter.id, .position = resource.waiter_count};
}

// Puts a new waiter among the inode's ranges, behind the youngest that is in its way.
void LockTable::watch_blocker(Resource& resource, Slot slot, const Range& range) {
    Waiter& waiter = waiters_[slot];
    const Slot blocker =
        ranges_.find_conflict(resource.ranges, range, waiter.mode, after_everybody);
    waiter.range_item = ranges_.add(resource.ranges, {.range = range,
                                                      .serial = waiter.id.serial,
                                                      .record = slot,
                                                      .mode = waiter.mode,
                                                      .is_waiter = true});
    ranges_.watch(waiter.range_item, blocker);
}

// Makes a lease of a request whose time has come. `waited` is its waiter, if it queued, and
// `range_item` the waiter's place among the ranges.
Slot LockTable::grant(Slot resource_slot, const AcquireRequest& request, const Waiter* waited,
                      Slot range_item) {
    Resource& resource = resources_[resource_slot];
    previous_owner_.clear();
    if (resource.lapsed != no_slot) {
        previous_owner_ = leases_[resource.lapsed].owner;
        drop_lapsed(resource_slot);
    }
    const Slot slot = add_holder(resource_slot, request, range_item);
    start_lease(slot, request);
    emit(EventKind::granted, Cause::request, leases_[slot], waited);
    return slot;
}

// A lease of nobody's time yet, among the holders of its resource.
Slot LockTable::add_holder(Slot resource_slot, const AcquireRequest& request, Slot range_item) {
    Resource& resource = resources_[resource_slot];
    const Slot slot = leases_.emplace();
    Lease& lease = leases_[slot];
    lease.owner = request.owner.name;
    lease.door = request.owner.door;
    lease.kind = request.scope.kind;
    lease.mode = request.mode;
    lease.resource = resource_slot;
    append(leases_, holder_links, resource.holders, slot);
    ++resource.holder_count;
    if (resource.kind == ResourceKind::inode) {
        if (range_item == no_slot) {
            range_item = ranges_.add(
                resource.ranges,
                {.range = request.scope.range, .serial = next_serial_++, .mode = request.mode});
        }
        ranges_[range_item].is_waiter = false;
        ranges_[range_item].record = slot;
        lease.range_item = range_item;
    }
    return slot;
}

// Gives a lease its number, its times and its session.
void LockTable::start_lease(Slot slot, const AcquireRequest& request) {
    CHECK(next_fence_ <= as_number(fence_max));
    Lease& lease = leases_[slot];
    lease.token = {.fence = Fence{next_fence_++}, .secret = request.secret};
    lease.notes = KeptNotes(request.notes);
    lease.is_restored = false;
    lease.renewals = 0;
    lease.ttl = request.ttl;
    lease.grace = request.grace;
    lease.memory = request.memory;
    lease.is_transient = request.is_transient;
    lease.acquired_at = now_;
    lease.expires_at = add_saturating(now_, request.ttl);
    leases_by_fence_.insert({.slot = slot, .hash = hash_of(lease.token.fence)});
    arm(lease_deadlines_, slot, lease.expires_at);
    if (request.session) {
        lease.session = request.session.slot;
        append(leases_, session_lease_links, sessions_[lease.session].leases, slot);
        ++sessions_[lease.session].lease_count;
    }
    ++resources_[lease.resource].version;
}

}  // namespace holdfast::core
