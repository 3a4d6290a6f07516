// Putting back leases that were granted before the server was started.

#include <algorithm>

#include "core/lock_table.h"

namespace holdfast::core {

// Whether there may have been such a lease, under any limits. Limits are for what is asked for now: a
// lease that was granted under others is kept.
bool LockTable::makes_sense(const RestoreRequest& request) {
    const auto& members = request.members;
    const auto has_permits = [](const Scope& scope, std::uint32_t limit) {
        return scope.kind != ScopeKind::semaphore || limit > 0;
    };
    if (members.size() > 1) {
        const bool are_good =
            members.front().scope == request.scope && !find_overlap(members) &&
            std::all_of(members.begin(), members.end(), [&](const SetMember& member) {
                return find_nonsense(member.scope) == Refusal::none &&
                       has_permits(member.scope, member.limit);
            });
        if (!are_good) return false;
    }
    const std::uint64_t number = as_number(request.token.fence);
    const bool is_endless = request.ttl == endless;
    return find_nonsense(request.scope) == Refusal::none &&
           has_permits(request.scope, request.limit) && number != 0 &&
           number <= as_number(fence_max) && request.ttl > Duration::zero() &&
           request.grace >= Duration::zero() && request.memory >= Duration::zero() &&
           !(is_endless && request.is_in_grace) &&  // it cannot have expired
           (request.value.empty() || request.revision > 0);
}

bool LockTable::restore(Time now, const RestoreRequest& request) {
    advance(now);
    if (!makes_sense(request) || find_lease(request.token.fence) != no_slot) return false;
    const std::size_t members = request.members.size();
    const std::uint64_t number = as_number(request.token.fence);
    const bool is_endless = request.ttl == endless;
    AskedSet asked = look_up(request);
    const bool is_free =
        std::all_of(asked.begin(), asked.end(), [](const Asked& one) { return one.is_free; });
    if (!is_free) return false;
    make_resources(asked);
    const Slot resource = asked.front().resource;
    const Slot slot = leases_.emplace();
    Lease& lease = leases_[slot];
    fill(lease, resource, request);
    count_endless({}, request.ttl);
    lease.is_transient = false;
    lease.token = request.token;
    if (request.revision > 0) lease.notes.set_value(request.value, request.revision);
    lease.mode = asked.front().member.mode;
    add_holder(slot, request.scope.range);
    sort_in(slot);
    if (members > 1) {
        lease.is_set = true;
        lease.notes.set_members(text_of(asked));
        for (std::size_t index = 1; index < asked.size(); ++index) add_member(slot, asked[index]);
        for (const Slot other : lease.notes.others()) {
            leases_[other].token = request.token;
            sort_in(other);
        }
    }
    lease.acquired_at = std::min(request.acquired_at, now_);
    lease.is_restored = true;
    lease.renewals = renewals_counted_max;  // how many there were is not known
    const Duration remaining = is_endless ? endless : std::max(request.remaining, Duration{1});
    const Time deadline = add_saturating(now_, remaining);
    if (request.is_in_grace) {
        lease.state = LeaseState::grace;
        lease.expires_at = deadline - request.grace;
        ++resources_[resource].grace_count;
        if (lease.is_set) begin_grace_of_members(lease);
    } else {
        lease.expires_at = deadline;
        leases_by_fence_.insert({.slot = slot, .hash = hash_of(lease.token.fence)});
    }
    arm(lease_deadlines_, slot, lease.deadline());
    for (const Asked& one : asked) {
        std::uint64_t& version = resources_[one.resource].version;
        version = std::max(version, request.version);
    }
    note_restored(slot);
    if (lease.is_set) {
        for (const Slot other : lease.notes.others()) note_restored(other);
    }
    next_fence_ = std::max(next_fence_, number + 1);
    return true;
}

void LockTable::note_restored(Slot slot) {
    if (resources_[leases_[slot].resource].waiter_count > 0) mark_holder(slot);
    note_own(slot);
}

// Holders are in the order of their grants, whatever the order in which a store names them: moves a
// record that was added last to its place.
void LockTable::sort_in(Slot slot) {
    const Lease& record = leases_[slot];
    Slot earlier = record.previous;
    while (earlier != no_slot && leases_[earlier].token.fence > record.token.fence) {
        earlier = leases_[earlier].previous;
    }
    if (earlier == record.previous) return;
    SlotList& holders = resources_[record.resource].holders;
    unlink(leases_, holder_links, holders, slot);
    insert_after(leases_, holder_links, holders, earlier, slot);
}

// The deadlines in the heap are now too early, as after a renewal. That does no harm.
void LockTable::start_restored(Time now) {
    const Duration late = std::max(now, now_) - now_;
    now_ += late;
    leases_.for_each([late](Slot /*slot*/, Lease& lease) {
        if (lease.is_member) return;
        lease.expires_at = add_saturating(lease.expires_at, late);
    });
}

}  // namespace holdfast::core
