// Leases from before the start of the server.

#include <algorithm>

#include "core/containers/slot_list.h"
#include "core/lock_table.h"
#include "core/values/resource_key.h"

namespace holdfast::core {

bool LockTable::restore(Time now, const RestoreRequest& request) {
    advance(now);
    const std::uint64_t number = as_number(request.token.fence);
    const AcquireRequest terms{.scope = request.scope,
                               .owner = request.owner,
                               .mode = request.mode,
                               .limit = request.limit,
                               .ttl = request.ttl,
                               .grace = request.grace,
                               .memory = request.memory,
                               .notes = request.notes};
    if (find_fault(terms) != Refusal::none || number == 0 || number > as_number(fence_max) ||
        find_lease(request.token.fence) != no_slot) {
        return false;
    }
    const ResourceKey key(request.scope, hash_seed_);
    Slot resource = find_resource(key);
    if (resource == no_slot) resource = make_resource(key, request.limit);
    if (resource == no_slot || !is_free_for(resource, terms)) return false;
    wake_idle(resource);
    const Slot slot = add_holder(resource, terms, no_slot);
    Lease& lease = leases_[slot];
    lease.token = request.token;
    // Holders are in the order of their grants, in whatever order a store tells of them.
    Slot earlier = lease.previous;
    while (earlier != no_slot && leases_[earlier].token.fence > lease.token.fence) {
        earlier = leases_[earlier].previous;
    }
    if (earlier != lease.previous) {
        SlotList& holders = resources_[resource].holders;
        unlink(leases_, holder_links, holders, slot);
        insert_after(leases_, holder_links, holders, earlier, slot);
    }
    lease.notes = KeptNotes(request.notes);
    lease.ttl = request.ttl;
    lease.grace = request.grace;
    lease.memory = request.memory;
    lease.acquired_at = std::min(request.acquired_at, now_);
    lease.is_restored = true;
    lease.renewals = renewals_counted_max;  // nobody knows how many there were
    const Time deadline = add_saturating(now_, std::max(request.remaining, Duration{1}));
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

// The deadlines in the heap are early now, as those of renewed leases are.
void LockTable::start_restored(Time now) {
    const Duration late = std::max(now, now_) - now_;
    now_ += late;
    leases_.for_each([late](Slot /*slot*/, Lease& lease) {
        lease.expires_at = add_saturating(lease.expires_at, late);
    });
}

}  // namespace holdfast::core
