// Long work in parts.
//
// What becomes due together, what moves up behind one end, the end of a session and a forced release
// may be about very many records. One call handles a part of them, TableOptions::visits_max records
// at most, and advance() goes on with the next part: the caller lets other clients ask in between.
// Work is cut between leases, never inside a lease or a set. A crash in between leaves a prefix.
//
// In between, the table is behind (is_behind()). Nobody notices:
//
//   - A request on a lock or a lease first settles what is due there. So a lock that looks taken is
//     taken, and an end that a client is told of is among the changes, for the store.
//   - Elsewhere, a lease that has expired counts as ended although it is still there: is_live() and
//     is_over() are asked wherever a lease is looked at.
//   - Waiters whose turn has come stay in the queue until they are granted. So nobody overtakes.
//   - A waiter whose time is over, or whose session is ending, is never granted anything.
//
// To settle a lock with very many holders would be too much for one call again. The caller asks
// is_too_much_to_settle() first, and lets such a request wait until the table is not behind.

#include <algorithm>
#include <vector>

#include "core/lock_table.h"

namespace holdfast::core {

// What follows belongs to another step, unless a step of several calls is under way.
void LockTable::begin_step() {
    if (!is_one_step_) changes_.begin_step();
}

bool LockTable::is_too_much_to_settle(const Scope& scope) const {
    const Slot slot = find_resource(scope);
    if (slot == no_slot) return false;
    const Resource& resource = resources_[slot];
    return resource.holder_count + resource.waiter_count > settled_max_;
}

bool LockTable::is_too_much_to_settle(const AcquireRequest& request) const {
    std::uint64_t count = 0;
    const auto add = [&](const Scope& scope) {
        const Slot slot = find_resource(scope);
        if (slot == no_slot) return;
        count += resources_[slot].holder_count + resources_[slot].waiter_count;
    };
    if (request.members.empty()) add(request.scope);
    for (const SetMember& member : request.members) add(member.scope);
    return count > settled_max_;
}

// Lets happen what is due on the locks that the request is about.
void LockTable::settle(const AcquireRequest& request) {
    if (!is_behind()) return;
    if (request.members.empty()) settle(request.scope);
    for (const SetMember& member : request.members) settle(member.scope);
    if (!request.is_only_kind) return;
    const ScopeKind kind = request.scope.kind;
    if (kind == ScopeKind::semaphore) settle(Scope::named(request.scope.name));
    if (kind == ScopeKind::named) settle(Scope::semaphore(request.scope.name));
}

void LockTable::settle(const Scope& scope) {
    if (!is_behind()) return;
    const Slot slot = find_resource(scope);
    if (slot != no_slot) settle(slot);
}

void LockTable::settle(Token token) {
    if (!is_behind()) return;
    const Slot slot = find_lease(token.fence);
    if (slot == no_slot || is_live(leases_[slot])) return;
    begin_step();
    expire(slot);
}

// As in run_due(): first the waits, then the leases.
void LockTable::settle(Slot slot) {
    std::vector<WaiterId> over;
    std::uint64_t left = settled_max_;
    for (Slot waiter = resources_[slot].waiters.first; waiter != no_slot && left > 0;
         waiter = waiters_[waiter].next, --left) {
        ++visited_;
        const Waiter& leader = waiters_[waiters_[waiter].id.slot];
        if (leader.deadline <= now_) over.push_back(leader.id);
    }
    for (const WaiterId waiter : over) {
        if (find_waiter(waiter) == nullptr) continue;  // a set that was here twice
        begin_step();
        remove_waiter(waiter.slot, EventKind::wait_timed_out, Cause::none);
    }
    if (!resources_.contains(slot)) return;
    std::vector<Slot> expired;
    for (Slot holder = resources_[slot].holders.first; holder != no_slot;
         holder = leases_[holder].next) {
        ++visited_;
        const Slot lease = lead(holder);
        if (leases_[lease].deadline() <= now_) expired.push_back(lease);
    }
    if (resources_[slot].lapsed != no_slot) expired.push_back(resources_[slot].lapsed);
    for (const Slot lease : expired) {
        // First into its grace, perhaps, then out of it.
        while (leases_.contains(lease) && leases_[lease].deadline() <= now_) {
            begin_step();
            expire(lease);
        }
    }
}

// The lease of the entry may be over.
void LockTable::settle_entry(Slot slot) {
    if (entries_[slot].is_expired || entries_[slot].waiter != no_slot) return;
    settle(Token{.fence = entries_[slot].fence});
}

}  // namespace holdfast::core
