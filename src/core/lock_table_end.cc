// How leases are renewed and end, and how waiters are granted after that.

#include <algorithm>

#include "base/check.h"
#include "core/lock_table.h"

namespace holdfast::core {

// The live lease of a token, or the reason why there is none.
LockTable::Found LockTable::find_held(Token token, const std::optional<Scope>& scope,
                                      const std::optional<Owner>& owner) const {
    // The two look-ups do not depend on each other, so the processor waits for memory only once.
    const Slot resource = scope ? find_resource(*scope) : no_slot;
    const Slot slot = find_lease(token.fence);
    if (slot == no_slot) {
        const std::uint64_t number = as_number(token.fence);
        const bool was_given_out = number > 0 && number < next_fence_;
        return {no_slot, was_given_out ? Refusal::lease_ended : Refusal::unknown_lease};
    }
    const Lease& lease = leases_[slot];
    const bool is_on_scope = !scope || is_on(slot, resource, *scope);
    const bool is_meant = is_on_scope && lease.token.secret == token.secret &&
                          (!owner || Owner{lease.door, lease.owner} == *owner);
    if (!is_meant) return {no_slot, Refusal::unknown_lease};
    if (!is_live(lease)) return {no_slot, Refusal::lease_ended};
    return {slot, Refusal::none};
}

Outcome LockTable::find(Token token) const {
    const Found found = find_held(token, std::nullopt, std::nullopt);
    if (found.slot == no_slot) return Outcome::refuse(found.refusal);
    return with_lease(Outcome::Kind::found, found.slot);
}

Outcome LockTable::find_holder(const Scope& scope) {
    if (scope.kind == ScopeKind::semaphore && semaphore_count_ == 0) {
        return Outcome::refuse(Refusal::unknown_lease);
    }
    settle(scope);
    const Slot slot = find_resource(scope);
    if (slot == no_slot || !is_in_use(slot)) return Outcome::refuse(Refusal::unknown_lease);
    Slot holder = resources_[slot].holders.first;
    if (holder == no_slot) return refuse_held(slot, scope.range, Mode::exclusive);
    if (is_behind()) holder = first_not_over(holder);
    if (holder == no_slot) return Outcome::refuse(Refusal::unknown_lease);
    return with_lease(Outcome::Kind::found, holder);
}

// The first of these holders that has not ended. Where that is not found soon, no_slot.
Slot LockTable::first_not_over(Slot holder) const {
    for (std::uint64_t left = part_visits_; holder != no_slot && left > 0; --left) {
        ++visited_;
        if (!is_over(leases_[lead(holder)])) return holder;
        holder = leases_[holder].next;
    }
    return no_slot;
}

Outcome LockTable::renew(Time now, const RenewRequest& request) {
    advance(now);
    settle(request.token);
    const Found found = find_held(request.token, request.scope, request.owner);
    if (found.slot == no_slot) return Outcome::refuse(found.refusal);
    const Lease& lease = leases_[found.slot];
    const Duration ttl = request.ttl.value_or(lease.ttl);
    // A lease may have a TTL that was allowed when it was granted, and is no longer.
    if (ttl != lease.ttl && !is_valid(ttl)) return Outcome::refuse(Refusal::ttl_out_of_range);
    if (is_one_endless_too_many(lease.ttl, ttl)) {
        return Outcome::refuse(Refusal::endless_leases_max);
    }
    Time expires_at = add_saturating(now_, ttl);
    LeaseTerms terms = lease.terms();
    terms.ttl = ttl;
    if (request.never_shorten) {
        expires_at = std::max(expires_at, lease.expires_at);
        // A restart of the server gives a lease its TTL again. That must not be shorter than what
        // the holder was told.
        terms.ttl = std::max(ttl, lease.ttl);
    }
    restart_lease(found.slot, expires_at, terms, request.is_forced ? Cause::force : Cause::request);
    return told(Outcome::Kind::renewed);
}

Outcome LockTable::set_value(Time now, const SetValueRequest& request) {
    advance(now);
    settle(request.token);
    const Found found = find_held(request.token, std::nullopt, std::nullopt);
    if (found.slot == no_slot) return Outcome::refuse(found.refusal);
    if (request.value.size() > limits_.value_length_max) {
        return Outcome::refuse(Refusal::value_length_max);
    }
    Lease& lease = leases_[found.slot];
    if (lease.notes.value() == request.value) return with_lease(Outcome::Kind::renewed, found.slot);
    lease.notes.set_value(request.value, lease.notes.revision() + 1);
    lease.is_restored = false;  // a store writes the whole lease
    ++resources_[lease.resource].version;
    emit(EventKind::value_set, Cause::request, lease);
    return told(Outcome::Kind::renewed);
}

Outcome LockTable::release(Time now, const ReleaseRequest& request) {
    advance(now);
    settle(request.token);
    const Found found = find_held(request.token, request.scope, request.owner);
    if (found.slot == no_slot) return Outcome::refuse(found.refusal);
    end_lease(found.slot, EventKind::released, request.cause);
    return {.kind = Outcome::Kind::released};
}

Outcome LockTable::release_own(Time now, const Scope& scope, const Owner& owner) {
    advance(now);
    settle(scope);
    const Slot slot = find_resource(scope);
    if (slot == no_slot) return Outcome::refuse(Refusal::unknown_lease);
    const Resource& resource = resources_[slot];
    const Slot holder = find_own(
        slot, {.owner = owner, .scope = scope, .held = true, .in_grace = true, .of_sets = true});
    if (holder != no_slot) {
        const bool is_held = leases_[holder].state == LeaseState::held;
        end_lease(lead(holder), is_held ? EventKind::released : EventKind::grace_ended,
                  Cause::request);
        return {.kind = Outcome::Kind::released};
    }
    if (resource.lapsed == no_slot || view(leases_[resource.lapsed]).owner != owner) {
        return Outcome::refuse(Refusal::unknown_lease);
    }
    drop_lapsed(slot);
    retire_if_unused(slot);
    return {.kind = Outcome::Kind::released};
}

std::size_t LockTable::force_release(Time now, const Scope& scope) {
    ForcedEnd progress;
    while (!force_release_part(now, scope, progress)) {
    }
    return progress.count;
}

bool LockTable::force_release_part(Time now, const Scope& scope, ForcedEnd& progress) {
    advance(now);
    if (progress.until == Fence{}) progress.until = Fence{next_fence_ - 1};
    const Slot slot = find_resource(scope);
    if (slot == no_slot || scope.range.start >= scope.range.end) return true;
    Slot next = first_holder_after(resources_[slot], progress.after);
    const std::uint64_t began = visited();  // the way there is no progress
    while (next != no_slot && leases_[next].token.fence <= progress.until) {
        if (visited() - began >= part_visits_) return false;
        const Fence fence = leases_[next].token.fence;
        const Slot lease = lead(next);
        // The records of a set on one inode are neighbours: they have the same fencing number.
        bool is_meant = false;
        for (; next != no_slot && leases_[next].token.fence == fence; next = leases_[next].next) {
            ++visited_;
            const Slot item = leases_[next].range_item;
            is_meant |= item == no_slot || ranges_[item].range.overlaps(scope.range);
        }
        if (!is_meant || is_over(leases_[lease])) {
            progress.after = fence;
            continue;
        }
        const bool is_held = leases_[lease].state == LeaseState::held;
        begin_step();
        end_lease(lease, is_held ? EventKind::released : EventKind::grace_ended, Cause::force);
        ++progress.count;
        if (!resources_.contains(slot)) return true;
    }
    return true;
}

// Renews a held lease: it now expires at `expires_at` and has these terms.
void LockTable::restart_lease(Slot slot, Time expires_at, const LeaseTerms& terms, Cause cause) {
    Lease& lease = leases_[slot];
    const bool has_new_terms = lease.terms() != terms || lease.is_restored;
    const bool is_now_kept = lease.is_transient && !terms.is_transient;
    if (has_new_terms) {
        count_endless(lease.ttl, terms.ttl);
        lease.set_terms(terms);
        lease.is_restored = false;
    }
    if (lease.renewals < renewals_counted_max) ++lease.renewals;
    if (expires_at < lease.expires_at) arm(lease_deadlines_, slot, expires_at);
    lease.expires_at = expires_at;
    ++resources_[lease.resource].version;
    if (lease.is_set) touch_members(lease);
    emit_renewed(lease, has_new_terms, cause, is_now_kept);
}

// Ends a lease that is held or in grace, and erases it. Waiters may be granted after that.
void LockTable::end_lease(Slot slot, EventKind kind, Cause cause) {
    if (leases_[slot].is_set) return end_set(slot, kind, cause);
    ++visited_;
    const Slot resource = leases_[slot].resource;
    ++resources_[resource].version;
    emit(kind, cause, leases_[slot]);
    std::vector<Slot> watchers = leave_holders(slot, kind);
    drop_lease(slot);
    hand_on(resource, std::move(watchers));
}

// The deadline of a lease has come.
void LockTable::expire(Slot slot) {
    ++visited_;
    Lease& lease = leases_[slot];
    const Slot resource_slot = lease.resource;
    Resource& resource = resources_[resource_slot];
    if (lease.state == LeaseState::lapsed) {
        drop_lapsed(resource_slot);
        retire_if_unused(resource_slot);
        return;
    }
    const EventKind kind =
        lease.state == LeaseState::held ? EventKind::expired : EventKind::grace_ended;
    const Cause cause =
        kind == EventKind::expired && lease.is_restored ? Cause::restart : Cause::none;
    if (lease.state == LeaseState::held && lease.grace > Duration::zero()) {
        ++resource.version;
        forget_own(slot);
        stop_holding(slot, kind);
        lease.state = LeaseState::grace;
        ++resource.grace_count;
        if (lease.is_set) begin_grace_of_members(lease);
        note_own(slot);
        emit(kind, cause, lease);
        lease_deadlines_.postpone(slot, lease.deadline());
        return;
    }
    // An inode remembers no owner, because its parts have no single last owner; a set neither.
    if (lease.memory <= Duration::zero() || resource.kind == ResourceKind::inode || lease.is_set) {
        end_lease(slot, kind, cause);
        return;
    }
    ++resource.version;
    leave_holders(slot, kind);
    drop_lapsed(resource_slot);
    lease.state = LeaseState::lapsed;
    resource.lapsed = slot;
    ++lapsed_count_;
    emit(kind, cause, lease);
    lease_deadlines_.postpone(slot, lease.deadline());
    hand_on(resource_slot, {});
}

// Forgets the name of the last owner, if it was remembered.
void LockTable::drop_lapsed(Slot resource_slot) {
    Resource& resource = resources_[resource_slot];
    if (resource.lapsed == no_slot) return;
    drop_lease(resource.lapsed);
    resource.lapsed = no_slot;
    --lapsed_count_;
}

// From now on the token of the lease proves nothing, and the lease belongs to no session.
void LockTable::stop_holding(Slot slot, EventKind kind) {
    Lease& lease = leases_[slot];
    CHECK(lease.state == LeaseState::held);
    if (lease.is_wanted) stop_wanting(slot);
    if (lease.has_entry) end_entry(slot, kind);
    leases_by_fence_.erase({.slot = slot, .hash = hash_of(lease.token.fence)});
    if (lease.session != no_slot) {
        unlink(leases_, session_lease_links, sessions_[lease.session].leases, slot);
        --sessions_[lease.session].lease_count;
        lease.session = no_slot;
    }
}

// Removes a lease that is held or in grace from the holders of its resource. `kind` says how it
// ends. Returns the range items that watched it.
std::vector<Slot> LockTable::leave_holders(Slot slot, EventKind kind) {
    Lease& lease = leases_[slot];
    Resource& resource = resources_[lease.resource];
    forget_own(slot);
    if (lease.state == LeaseState::held) {
        stop_holding(slot, kind);
    } else {
        --resource.grace_count;
    }
    unlink(leases_, holder_links, resource.holders, slot);
    if (--resource.holder_count == 0) stop_crowding(resource);
    door_counts_.remove_holder(lease.resource, lease.door);
    resource.is_of_idle_door |= idle_door_ == lease.door;
    if (lease.range_item == no_slot) return {};
    return ranges_.remove(resource.ranges, lease.range_item);
}

bool LockTable::cancel(Time now, WaiterId id) {
    advance(now);
    if (find_waiter(id) == nullptr) return false;
    remove_waiter(id.slot, EventKind::wait_cancelled, Cause::request);
    return true;
}

void LockTable::remove_waiter(Slot slot, EventKind kind, Cause cause) {
    if (waiters_[slot].is_set) {
        erase_waiting_set(slot, kind, cause);
        return hand_on_touched();
    }
    const Slot resource = waiters_[slot].resource;
    std::vector<Slot> watchers = erase_waiter(slot, kind, cause);
    hand_on(resource, std::move(watchers));
}

// Erases a waiter that will not be granted. Returns the range items that watched it.
std::vector<Slot> LockTable::erase_waiter(Slot slot, EventKind kind, Cause cause) {
    ++visited_;
    const Waiter& waiter = waiters_[slot];
    if (waiter.has_entry) drop_entry(find_entry(waiter));
    count_endless(waiter.ttl, {});
    --resources_[waiter.resource].waiter_count;
    door_counts_.remove_waiter(waiter.resource, waiter.door);
    resources_[waiter.resource].is_of_idle_door |= idle_door_ == waiter.door;
    emit(kind, cause, waiter);
    const Slot item = waiter.range_item, resource = waiter.resource;
    leave_queue(slot);
    leave_identity(slot);
    waiters_.erase(slot);
    if (item == no_slot) return {};
    return ranges_.remove(resources_[resource].ranges, item);
}

// Removes a waiter from its lists. The caller sees to its resource's count and to its range item.
void LockTable::leave_queue(Slot slot) {
    Waiter& waiter = waiters_[slot];
    unlink(waiters_, queue_links, resources_[waiter.resource].waiters, slot);
    if (waiter.session != no_slot) {
        unlink(waiters_, session_waiter_links, sessions_[waiter.session].waiters, slot);
        --sessions_[waiter.session].waiter_count;
    }
    waiter_deadlines_.disarm(slot);
}

// Whether the waiter must not be granted anything any more.
bool LockTable::is_to_end(const Waiter& waiter) const {
    return waiter.deadline <= now_ ||
           (waiter.session != no_slot && sessions_[waiter.session].is_ending);
}

// How the wait of such a waiter ends.
std::pair<EventKind, Cause> LockTable::end_of(const Waiter& waiter) const {
    if (waiter.deadline <= now_) return {EventKind::wait_timed_out, Cause::none};
    return {EventKind::wait_cancelled, Cause::session_end};
}

// After a lease or a wait has ended: grants the waiters that need not wait any more. `watchers` are
// the range items that watched what has ended.
void LockTable::hand_on(Slot slot, std::vector<Slot> watchers) {
    if (is_part_over() && resources_[slot].waiter_count > 0) {
        hand_on_later(slot, std::move(watchers));
    } else {
        hand_on_at(slot, std::move(watchers));
    }
    if (!touched_.empty()) hand_on_touched();
}

// A part of work is over: a later one goes on here. Nobody overtakes meanwhile, because all waiters
// stay in the queue.
void LockTable::hand_on_later(Slot slot, std::vector<Slot> watchers) {
    touched_.push_back({.resource = slot, .watchers = std::move(watchers)});
    next_due_ = std::min(next_due_, now_);
}

void LockTable::hand_on_at(Slot slot, std::vector<Slot> watchers) {
    const bool is_inode = resources_[slot].kind == ResourceKind::inode;
    const bool is_done = is_inode ? hand_on_ranges(watchers) : hand_on_in_turn(slot);
    if (!is_done) return hand_on_later(slot, std::move(watchers));
    retire_if_unused(slot);
}

// False if the part is over before all have moved up that may.
bool LockTable::hand_on_in_turn(Slot slot) {
    const Resource& resource = resources_[slot];
    for (bool is_first = true; resource.waiters.first != no_slot; is_first = false) {
        const Slot next_slot = resource.waiters.first;
        const Waiter& next = waiters_[next_slot];
        ++visited_;
        const bool is_ready =
            next.is_of_set() || is_to_end(next) || has_room_for(resource, next.mode);
        if (!is_ready) return true;
        if (!is_first && is_part_over()) return false;
        // What was granted before may be committed without what follows.
        if (!is_first) begin_step();
        if (next.is_of_set()) {
            if (!hand_on_to_set(next_slot)) return true;
        } else if (is_to_end(next)) {
            const auto [kind, cause] = end_of(next);
            erase_waiter(next_slot, kind, cause);
        } else {
            grant_waiter(next_slot);
        }
    }
    return true;
}

// The same for waiters for ranges, which need not be on the same inode. Those that were handled are
// no longer in `watchers`.
bool LockTable::hand_on_ranges(std::vector<Slot>& watchers) {
    // A list, not recursion: a chain of thousands of waiters may have timed out together.
    for (std::size_t index = 0; index < watchers.size(); ++index) {
        if (index > 0 && is_part_over()) {
            watchers.erase(watchers.begin(), watchers.begin() + static_cast<std::ptrdiff_t>(index));
            return false;
        }
        ++visited_;
        const Slot item = watchers[index];
        if (!ranges_.is_woken(item)) continue;  // its set was granted or has timed out meanwhile
        if (index > 0) begin_step();
        const Slot waiter = ranges_[item].record;
        if (waiters_[waiter].is_of_set()) {
            hand_on_to_set(waiter);
            continue;
        }
        if (is_to_end(waiters_[waiter])) {
            const auto [kind, cause] = end_of(waiters_[waiter]);
            const auto behind = erase_waiter(waiter, kind, cause);
            watchers.insert(watchers.end(), behind.begin(), behind.end());
            continue;
        }
        const RangeIndex::Roots& roots = resources_[waiters_[waiter].resource].ranges;
        const Slot blocker = ranges_.find_conflict(roots, ranges_[item].range, ranges_[item].mode,
                                                   ranges_[item].serial);
        if (blocker != no_slot) {
            ranges_.watch(item, blocker);
        } else {
            grant_waiter(waiter);
        }
    }
    return true;
}

}  // namespace holdfast::core
