// Two-phase acquire: an entry is what `enqueue` leaves for `wait`.
//
// An entry stands for a waiter, then for the lease that waiter was granted, and ends with it:
//
//   enqueue ──► queues ──► holds ──► wait: used up
//                 │          ├─────► released, forced, session ended: gone
//                 │          └─────► expired: kept until the next wait or enqueue
//                 └────────────────► cancelled, session ended: gone
//
// Expired ones stand for nothing that is counted elsewhere, so they have a limit of their own.

#include "base/check.h"
#include "core/containers/key_hash.h"
#include "core/containers/slot_list.h"
#include "core/lock_table.h"

namespace holdfast::core {

Outcome LockTable::enqueue(Time now, const AcquireRequest& request) {
    advance(now);
    if (find_session(request.session) == nullptr) return Outcome::refuse(Refusal::unknown_session);
    const Slot session = request.session.slot;
    std::string scope = to_text(request.scope);
    const Slot earlier = find_entry(session, scope);
    if (earlier != no_slot && !entries_[earlier].is_expired) {
        return Outcome::refuse(Refusal::already_enqueued);
    }
    AcquireRequest patient = request;
    patient.wait = wait_forever;
    patient.renew_own = false;  // an entry stands for a place in the queue or a lease of its own
    const Outcome outcome = admit(patient, true);
    if (outcome.kind == Outcome::Kind::refused) return outcome;
    if (earlier != no_slot) drop_entry(earlier);

    const std::uint32_t hash = hash_of_entry(session, scope);
    const Slot slot = entries_.emplace(session, std::move(scope), hash);
    entries_by_scope_.insert({.slot = slot, .hash = hash});
    append(entries_, session_entry_links, sessions_[session].entries, slot);
    entries_[slot].ttl = request.ttl;
    if (outcome.kind == Outcome::Kind::queued) {
        entries_[slot].waiter = outcome.waiter.slot;
    } else {
        entries_[slot].fence = outcome.lease.token.fence;
        leases_[find_lease(outcome.lease.token.fence)].has_entry = true;
    }
    return outcome;
}

Outcome LockTable::wait(Time now, SessionId id, const Scope& scope, Duration timeout) {
    advance(now);
    if (find_session(id) == nullptr) return Outcome::refuse(Refusal::unknown_session);
    const Slot slot = find_entry(id.slot, to_text(scope));
    if (slot == no_slot) return Outcome::refuse(Refusal::not_enqueued);
    const bool is_expired = entries_[slot].is_expired;
    const Slot waiting = entries_[slot].waiter;
    const Fence fence = entries_[slot].fence;
    const Duration ttl = entries_[slot].ttl;
    drop_entry(slot);
    if (is_expired) return Outcome::refuse(Refusal::lease_ended);
    if (waiting == no_slot) {
        const Slot lease = find_lease(fence);
        CHECK(lease != no_slot);  // its entry would have ended with it
        leases_[lease].has_entry = false;
        LeaseTerms terms = leases_[lease].terms();
        terms.ttl = ttl;
        restart_lease(lease, add_saturating(now_, ttl), terms);
        return with_lease(Outcome::Kind::granted, lease);
    }
    Waiter& waiter = waiters_[waiting];
    waiter.is_two_phase = false;
    if (timeout <= Duration::zero()) {
        remove_waiter(waiting, EventKind::wait_timed_out, Cause::request);
        return Outcome::refuse(Refusal::timed_out);
    }
    waiter.deadline = add_saturating(now_, timeout);
    if (waiter.deadline != Time::max()) arm(waiter_deadlines_, waiting, waiter.deadline);
    return {.kind = Outcome::Kind::queued, .waiter = waiter.id};
}

std::uint32_t LockTable::hash_of_entry(Slot session, std::string_view scope) const {
    const std::uint64_t seed = hash_seed_ + sessions_[session].id.serial;
    return static_cast<std::uint32_t>(hash_text(seed, scope));
}

Slot LockTable::find_entry(Slot session, std::string_view scope) const {
    return entries_by_scope_.find(hash_of_entry(session, scope), [&](Slot slot) {
        return entries_[slot].session == session && entries_[slot].scope == scope;
    });
}

// REQUIRES: the waiter is two-phase.
Slot LockTable::find_entry(const Waiter& waiter) const {
    const Resource& resource = resources_[waiter.resource];
    return find_entry(waiter.session, to_text(scope_of(resource, waiter.kind, waiter.range_item)));
}

// REQUIRES: the lease has an entry.
Slot LockTable::find_entry(const Lease& lease) const {
    const Resource& resource = resources_[lease.resource];
    return find_entry(lease.session, to_text(scope_of(resource, lease.kind, lease.range_item)));
}

void LockTable::drop_entry(Slot slot) {
    const Enqueued& entry = entries_[slot];
    entries_by_scope_.erase({.slot = slot, .hash = entry.hash});
    unlink(entries_, session_entry_links, sessions_[entry.session].entries, slot);
    if (entry.is_expired) {
        unlink(entries_, expired_entry_links, expired_entries_, slot);
        --expired_entry_count_;
    }
    entries_.erase(slot);
}

// The lease of an entry is over. REQUIRES: it has one, and is still its session's.
void LockTable::end_entry(Slot lease, EventKind kind) {
    const Slot slot = find_entry(leases_[lease]);
    leases_[lease].has_entry = false;
    if (kind != EventKind::expired) return drop_entry(slot);
    entries_[slot].is_expired = true;
    append(entries_, expired_entry_links, expired_entries_, slot);
    ++expired_entry_count_;
    if (expired_entry_count_ > limits_.expired_entries_max) drop_entry(expired_entries_.first);
}

}  // namespace holdfast::core
