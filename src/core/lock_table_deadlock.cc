// Telling of deadlocks. deadlock_search.h opens with how they are found.

#include <algorithm>

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

Deadlocks LockTable::list_deadlocks(std::size_t limit) const {
    DeadlockSearch search(*this);
    Deadlocks deadlocks;
    for (auto& [members, waiters] : search.find_all(limit)) {
        // The cycle begins with the waiter that has closed it, which is the last to have come.
        const auto youngest = std::max_element(
            waiters.begin(), waiters.end(),
            [this](Slot a, Slot b) { return waiters_[a].id.serial < waiters_[b].id.serial; });
        std::rotate(members.begin(), members.begin() + (waiters.end() - 1 - youngest),
                    members.end());
        deadlocks.cycles.push_back(
            {.since = waiters_[*youngest].since, .text = cycle_to_text(members)});
    }
    deadlocks.is_cut = search.is_cut();
    return deadlocks;
}

}  // namespace holdfast::core
