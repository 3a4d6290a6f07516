// How leases are extended and end, and how waiters move up when something is out of their way.

#include <algorithm>

#include "base/check.h"
#include "core/containers/slot_list.h"
#include "core/lock_table.h"

namespace holdfast::core {

// The live lease a token speaks for, or why it speaks for none.
LockTable::Found LockTable::find_held(Token token, const std::optional<Scope>& scope,
                                      const std::optional<Owner>& owner) const {
    // Independent of the look-up of the lease, so that the two wait for memory together.
    const Slot resource = scope ? find_resource(*scope) : no_slot;
    const Slot slot = find_lease(token.fence);
    if (slot == no_slot) {
        const std::uint64_t number = as_number(token.fence);
        const bool was_given_out = number > 0 && number < next_fence_;
        return {no_slot, was_given_out ? Refusal::lease_ended : Refusal::unknown_lease};
    }
    const Lease& lease = leases_[slot];
    const bool is_on_scope =
        !scope ||
        (lease.resource == resource && lease.kind == scope->kind &&
         (lease.range_item == no_slot || ranges_[lease.range_item].range == scope->range));
    const bool is_meant = is_on_scope && lease.token.secret == token.secret &&
                          (!owner || Owner{lease.door, lease.owner} == *owner);
    if (!is_meant) return {no_slot, Refusal::unknown_lease};
    return {slot, Refusal::none};
}

Outcome LockTable::find(Token token) const {
    const Found found = find_held(token, std::nullopt, std::nullopt);
    if (found.slot == no_slot) return Outcome::refuse(found.refusal);
    return with_lease(Outcome::Kind::renewed, found.slot);
}

Outcome LockTable::renew(Time now, const RenewRequest& request) {
    advance(now);
    const Found found = find_held(request.token, request.scope, request.owner);
    if (found.slot == no_slot) return Outcome::refuse(found.refusal);
    const Lease& lease = leases_[found.slot];
    const Duration ttl = request.ttl.value_or(lease.ttl);
    if (ttl < limits_.ttl_min || ttl > limits_.ttl_max) {
        return Outcome::refuse(Refusal::ttl_out_of_range);
    }
    Time expires_at = add_saturating(now_, ttl);
    LeaseTerms terms{ttl, lease.grace, lease.memory, lease.is_transient};
    if (request.never_shorten) {
        expires_at = std::max(expires_at, lease.expires_at);
        // A restart gives a lease its TTL again, which must reach as far as its holder was told.
        terms.ttl = std::max(ttl, lease.ttl);
    }
    restart_lease(found.slot, expires_at, terms);
    return with_lease(Outcome::Kind::renewed, found.slot);
}

Outcome LockTable::release(Time now, const ReleaseRequest& request) {
    advance(now);
    const Found found = find_held(request.token, request.scope, request.owner);
    if (found.slot == no_slot) return Outcome::refuse(found.refusal);
    end_lease(found.slot, EventKind::released, Cause::request);
    return {.kind = Outcome::Kind::released};
}

Outcome LockTable::release_own(Time now, const Scope& scope, const Owner& owner) {
    advance(now);
    const Slot slot = find_resource(scope);
    if (slot == no_slot) return Outcome::refuse(Refusal::unknown_lease);
    const Resource& resource = resources_[slot];
    for (Slot holder = resource.holders.first; holder != no_slot; holder = leases_[holder].next) {
        const LeaseView lease = view(leases_[holder]);
        if (lease.owner != owner || lease.scope != scope) continue;
        const bool is_held = lease.state == LeaseState::held;
        end_lease(holder, is_held ? EventKind::released : EventKind::grace_ended, Cause::request);
        return {.kind = Outcome::Kind::released};
    }
    if (resource.lapsed == no_slot || view(leases_[resource.lapsed]).owner != owner) {
        return Outcome::refuse(Refusal::unknown_lease);
    }
    drop_lapsed(slot);
    settle(slot);
    return {.kind = Outcome::Kind::released};
}

std::size_t LockTable::force_release(Time now, const Scope& scope) {
    advance(now);
    const Slot slot = find_resource(scope);
    if (slot == no_slot || scope.range.start >= scope.range.end) return 0;
    std::vector<Slot> ended;
    const SlotList& holders = resources_[slot].holders;
    for (Slot holder = holders.first; holder != no_slot; holder = leases_[holder].next) {
        const Slot item = leases_[holder].range_item;
        if (item == no_slot || ranges_[item].range.overlaps(scope.range)) ended.push_back(holder);
    }
    for (const Slot holder : ended) {
        const bool is_held = leases_[holder].state == LeaseState::held;
        end_lease(holder, is_held ? EventKind::released : EventKind::grace_ended, Cause::force);
    }
    return ended.size();
}

// A held lease now ends at `expires_at`, and is kept on these terms.
void LockTable::restart_lease(Slot slot, Time expires_at, const LeaseTerms& terms) {
    Lease& lease = leases_[slot];
    const bool has_new_terms = lease.terms() != terms || lease.is_restored;
    lease.ttl = terms.ttl;
    lease.grace = terms.grace;
    lease.memory = terms.memory;
    lease.is_transient = terms.is_transient;
    lease.is_restored = false;
    if (lease.renewals < renewals_counted_max) ++lease.renewals;
    if (expires_at < lease.expires_at) arm(lease_deadlines_, slot, expires_at);
    lease.expires_at = expires_at;
    ++resources_[lease.resource].version;
    emit_renewed(lease, has_new_terms);
}

// The lease (held or in grace) is over and leaves no trace; whoever waited for it moves up.
void LockTable::end_lease(Slot slot, EventKind kind, Cause cause) {
    const Slot resource = leases_[slot].resource;
    ++resources_[resource].version;
    emit(kind, cause, leases_[slot]);
    std::vector<Slot> watchers = leave_holders(slot, kind);
    drop_lease(slot);
    hand_on(resource, std::move(watchers));
}

// The deadline of a lease has come. REQUIRES: it is at the top of the heap.
void LockTable::expire(Slot slot) {
    Lease& lease = leases_[slot];
    const Slot resource_slot = lease.resource;
    Resource& resource = resources_[resource_slot];
    if (lease.state == LeaseState::lapsed) {
        drop_lapsed(resource_slot);
        settle(resource_slot);
        return;
    }
    const EventKind kind =
        lease.state == LeaseState::held ? EventKind::expired : EventKind::grace_ended;
    if (lease.state == LeaseState::held && lease.grace > Duration::zero()) {
        ++resource.version;
        stop_holding(slot, kind);
        lease.state = LeaseState::grace;
        ++resource.grace_count;
        emit(kind, Cause::request, lease);
        lease_deadlines_.postpone_top(lease.deadline());
        return;
    }
    if (lease.memory <= Duration::zero() || resource.kind == ResourceKind::inode) {
        end_lease(slot, kind, Cause::request);
        return;
    }
    ++resource.version;
    leave_holders(slot, kind);
    drop_lapsed(resource_slot);
    lease.state = LeaseState::lapsed;
    resource.lapsed = slot;
    ++lapsed_count_;
    emit(kind, Cause::request, lease);
    lease_deadlines_.postpone_top(lease.deadline());
    hand_on(resource_slot, {});
}

// Forgets the last owner's name, if it was remembered.
void LockTable::drop_lapsed(Slot resource_slot) {
    Resource& resource = resources_[resource_slot];
    if (resource.lapsed == no_slot) return;
    drop_lease(resource.lapsed);
    resource.lapsed = no_slot;
    --lapsed_count_;
}

// A held lease's token proves nothing from now on, and its session has no part in it any more.
void LockTable::stop_holding(Slot slot, EventKind kind) {
    Lease& lease = leases_[slot];
    CHECK(lease.state == LeaseState::held);
    if (lease.has_entry) end_entry(slot, kind);
    leases_by_fence_.erase({.slot = slot, .hash = hash_of(lease.token.fence)});
    if (lease.session != no_slot) {
        unlink(leases_, session_lease_links, sessions_[lease.session].leases, slot);
        --sessions_[lease.session].lease_count;
        lease.session = no_slot;
    }
}

// Takes a lease, held or in grace, out of its resource. `kind` is what ended it. Returns the ranges
// that waited for it.
std::vector<Slot> LockTable::leave_holders(Slot slot, EventKind kind) {
    Lease& lease = leases_[slot];
    Resource& resource = resources_[lease.resource];
    if (lease.state == LeaseState::held) {
        stop_holding(slot, kind);
    } else {
        --resource.grace_count;
    }
    unlink(leases_, holder_links, resource.holders, slot);
    --resource.holder_count;
    if (lease.range_item == no_slot) return {};
    return ranges_.remove(resource.ranges, lease.range_item);
}

bool LockTable::cancel(Time now, WaiterId id) {
    advance(now);
    if (!waiters_.contains(id.slot) || waiters_[id.slot].id != id) return false;
    remove_waiter(id.slot, EventKind::wait_cancelled, Cause::request);
    return true;
}

void LockTable::remove_waiter(Slot slot, EventKind kind, Cause cause) {
    const Slot resource = waiters_[slot].resource;
    std::vector<Slot> watchers = take_out_waiter(slot, kind, cause);
    hand_on(resource, std::move(watchers));
}

// Removes a waiter that will not be granted. Returns the ranges that waited behind it.
std::vector<Slot> LockTable::take_out_waiter(Slot slot, EventKind kind, Cause cause) {
    const Waiter& waiter = waiters_[slot];
    if (waiter.is_two_phase) drop_entry(find_entry(waiter));
    --resources_[waiter.resource].waiter_count;
    emit(kind, cause, waiter);
    const Slot item = waiter.range_item, resource = waiter.resource;
    leave_queue(slot);
    waiters_.erase(slot);
    if (item == no_slot) return {};
    return ranges_.remove(resources_[resource].ranges, item);
}

// Takes a waiter out of its lists. Its count and its range are its caller's affair.
void LockTable::leave_queue(Slot slot) {
    Waiter& waiter = waiters_[slot];
    unlink(waiters_, queue_links, resources_[waiter.resource].waiters, slot);
    if (waiter.session != no_slot) {
        unlink(waiters_, session_waiter_links, sessions_[waiter.session].waiters, slot);
        --sessions_[waiter.session].waiter_count;
    }
    waiter_deadlines_.disarm(slot);
}

// Something on the resource ended: grants whoever need not wait any more, then tidies up.
// `watchers` are the ranges that waited for just that.
void LockTable::hand_on(Slot slot, std::vector<Slot> watchers) {
    if (resources_[slot].kind == ResourceKind::inode) {
        hand_on_ranges(slot, std::move(watchers));
    } else {
        hand_on_in_turn(slot);
    }
    settle(slot);
}

void LockTable::hand_on_in_turn(Slot slot) {
    const Resource& resource = resources_[slot];
    while (resource.waiters.first != no_slot) {
        const Waiter& next = waiters_[resource.waiters.first];
        if (next.deadline <= now_) {
            take_out_waiter(resource.waiters.first, EventKind::wait_timed_out, Cause::request);
        } else if (has_room_for(resource, next.mode)) {
            grant_waiter(resource.waiters.first);
        } else {
            break;
        }
    }
}

void LockTable::hand_on_ranges(Slot slot, std::vector<Slot> watchers) {
    Resource& resource = resources_[slot];
    // A list, not recursion: thousands that waited in a chain may all have timed out.
    for (std::size_t index = 0; index < watchers.size(); ++index) {
        const Slot item = watchers[index];
        const Slot waiter = ranges_[item].record;
        if (waiters_[waiter].deadline <= now_) {
            const auto behind = take_out_waiter(waiter, EventKind::wait_timed_out, Cause::request);
            watchers.insert(watchers.end(), behind.begin(), behind.end());
            continue;
        }
        const Slot blocker = ranges_.find_conflict(resource.ranges, ranges_[item].range,
                                                   ranges_[item].mode, ranges_[item].serial);
        if (blocker != no_slot) {
            ranges_.watch(item, blocker);
        } else {
            grant_waiter(waiter);
        }
    }
}

void LockTable::grant_waiter(Slot slot) {
    const Waiter& waiter = waiters_[slot];
    const Slot resource = waiter.resource;
    SessionId session;
    if (waiter.session != no_slot) session = sessions_[waiter.session].id;
    const AcquireRequest request{
        .scope = scope_of(resources_[resource], waiter.kind, waiter.range_item),
        .owner = {.door = waiter.door, .name = waiter.owner},
        .mode = waiter.mode,
        .ttl = waiter.ttl,
        .grace = waiter.grace,
        .memory = waiter.memory,
        .session = session,
        .is_transient = waiter.is_transient,
        .secret = waiter.secret,
        .notes = waiter.notes.view()};
    leave_queue(slot);
    --resources_[resource].waiter_count;
    const Slot lease = grant(resource, request, &waiter, waiter.range_item);
    if (waiter.is_two_phase) {
        Enqueued& entry = entries_[find_entry(waiter)];
        entry.waiter = no_slot;
        entry.fence = leases_[lease].token.fence;
        leases_[lease].has_entry = true;
    }
    waiters_.erase(slot);
}

}  // namespace holdfast::core
