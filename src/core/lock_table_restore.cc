// Putting back leases that were granted before the server was started.

#include <algorithm>

#include "core/lock_table.h"

namespace holdfast::core {

bool LockTable::restore(Time now, const RestoreRequest& request) {
    advance(now);
    const std::uint64_t number = as_number(request.token.fence);
    if (find_fault(request) != Refusal::none || number == 0 || number > as_number(fence_max) ||
        find_lease(request.token.fence) != no_slot) {
        return false;
    }
    const bool is_endless = request.ttl == endless;
    if (is_endless && request.is_in_grace) return false;  // it cannot have expired
    if (request.members.size() > 1) return false;         // the table knows no sets
    if (!request.value.empty() && request.revision == 0) return false;
    const ResourceKey key(request.scope, hash_seed_);
    Slot resource = find_resource(key);
    if (resource == no_slot) resource = make_resource(key, request.limit);
    if (resource == no_slot || !is_free_for(resource, request)) return false;
    wake_idle(resource);
    const Slot slot = leases_.emplace();
    Lease& lease = leases_[slot];
    fill(lease, resource, request);
    count_endless({}, request.ttl);
    lease.is_transient = false;
    lease.token = request.token;
    if (request.revision > 0) lease.notes.set_value(request.value, request.revision);
    add_holder(slot, request.scope.range);
    // Holders are in the order of their grants, whatever the order in which a store names them.
    Slot earlier = lease.previous;
    while (earlier != no_slot && leases_[earlier].token.fence > lease.token.fence) {
        earlier = leases_[earlier].previous;
    }
    if (earlier != lease.previous) {
        SlotList& holders = resources_[resource].holders;
        unlink(leases_, holder_links, holders, slot);
        insert_after(leases_, holder_links, holders, earlier, slot);
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
    } else {
        lease.expires_at = deadline;
        leases_by_fence_.insert({.slot = slot, .hash = hash_of(lease.token.fence)});
    }
    arm(lease_deadlines_, slot, lease.deadline());
    resources_[resource].version = std::max(resources_[resource].version, request.version);
    next_fence_ = std::max(next_fence_, number + 1);
    return true;
}

// The deadlines in the heap are now too early, as after a renewal. That does no harm.
void LockTable::start_restored(Time now) {
    const Duration late = std::max(now, now_) - now_;
    now_ += late;
    leases_.for_each([late](Slot /*slot*/, Lease& lease) {
        lease.expires_at = add_saturating(lease.expires_at, late);
    });
}

}  // namespace holdfast::core
