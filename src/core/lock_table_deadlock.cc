// Telling of deadlocks. deadlock_search.h opens with how they are found.

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>

#include "core/deadlock_search.h"
#include "core/lock_table.h"

namespace holdfast::core {

// Whether the request closes a cycle by joining these queues. cycle_ has it then.
bool LockTable::closes_cycle(const AcquireRequest& request, const Asked* asked, std::size_t count) {
    const Slot identity = find_identity(identity_key(request));
    if (identity == no_slot) return false;  // nobody waits for this client
    if (identities_[identity].is_crowd) return false;
    DeadlockSearch search(*this);
    const std::vector<CycleMember> cycle = search.find(request, asked, count, identity);
    if (cycle.empty()) return false;
    cycle_ = cycle_to_text(cycle);
    return true;
}

void LockTable::tell_of_deadlock(const AcquireRequest& request) {
    Event event{.kind = EventKind::deadlock, .at = now_};
    event.lease.scope = request.scope;
    event.lease.owner = request.owner;
    event.lease.mode = request.mode;
    event.lease.ttl = request.ttl;
    event.lease.session = request.session;
    event.lease.notes = request.notes;
    event.cycle = cycle_;
    changes_.add(event);
}

Outcome LockTable::refuse_deadlock(const AcquireRequest& request) {
    tell_of_deadlock(request);
    Outcome outcome = Outcome::refuse(Refusal::deadlock);
    outcome.cycle = cycle_;
    return outcome;
}

std::vector<Cycle> LockTable::list_deadlocks(std::size_t limit) const {
    std::vector<Cycle> cycles;
    boost::unordered_flat_set<Slot> seen;  // waiters of cycles that are in the list
    waiters_.for_each([&](Slot slot, const Waiter& waiter) {
        if (waiter.is_member || cycles.size() >= limit || seen.contains(slot)) return;
        const Identity& identity = identities_[waiter.identity];
        // Every cycle has a client that others wait for while it waits, or one that waits twice:
        // along a chain of other clients the waiters only become older.
        if (identity.wanted == 0 && identity.waiter_count == 1) return;
        if (identity.is_crowd) return;
        DeadlockSearch search(*this);
        std::vector<CycleMember> members = search.find(slot);
        if (members.empty()) return;
        // The cycle begins with the waiter that has closed it, which is the last to have come. The
        // waiters are in the opposite order.
        const std::vector<Slot>& cycle = search.waiters();
        std::size_t youngest = 0;
        for (std::size_t index = 0; index < cycle.size(); ++index) {
            seen.insert(cycle[index]);
            if (waiters_[cycle[index]].id.serial > waiters_[cycle[youngest]].id.serial) {
                youngest = index;
            }
        }
        std::rotate(members.begin(),
                    members.begin() + static_cast<std::ptrdiff_t>(members.size() - 1 - youngest),
                    members.end());
        cycles.push_back(
            {.since = waiters_[cycle[youngest]].since, .text = cycle_to_text(members)});
    });
    return cycles;
}

}  // namespace holdfast::core
