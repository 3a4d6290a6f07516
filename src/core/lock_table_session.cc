// Sessions, and the two-phase entries that belong to them.
//
// Everything that a connection or a login holds and waits for ends with its session.
//
// Two-phase acquire: `enqueue` leaves an entry for `wait`. The entry stands for a waiter, then for
// the lease that the waiter was granted, and ends with it:
//
//   enqueue ──► queues ──► holds ──► wait: used up
//                 │          ├─────► released, forced, session ended: gone
//                 │          └─────► expired: stays until the next wait or enqueue
//                 └────────────────► cancelled, session ended: gone
//
// An expired entry stands for no lease or waiter, which have limits; so expired entries have a
// limit of their own.

#include "base/check.h"
#include "core/lock_table.h"

namespace holdfast::core {

SessionId LockTable::open_session(Time now, const Owner& owner) {
    advance(now);
    if (sessions_.size() >= limits_.sessions_max) return {};
    const Slot slot = sessions_.emplace();
    Session& session = sessions_[slot];
    session.id = {.serial = next_serial_++, .slot = slot};
    session.owner = owner.name;
    session.door = owner.door;
    session.opened_at = now_;
    emit(EventKind::session_opened, session);
    return session.id;
}

bool LockTable::end_session(Time now, SessionId id, SessionLeases leases) {
    advance(now);
    if (find_session(id) == nullptr) return false;
    while (!end_session_part(now, id, leases)) {
    }
    return true;
}

bool LockTable::end_session_part(Time now, SessionId id, SessionLeases leases) {
    advance(now);
    Session* const session = find_any_session(id);
    if (session == nullptr) return true;
    session->is_ending = true;
    const std::uint64_t began = visited();
    const auto is_enough = [&] { return visited() - began >= part_visits_; };
    // The youngest waiter first: the end of a waiter can only let later waiters through.
    while (session->waiters.last != no_slot) {
        if (is_enough()) return false;
        begin_step();
        remove_waiter(session->waiters.last, EventKind::wait_cancelled, Cause::session_end);
    }
    while (session->leases.first != no_slot) {
        if (is_enough()) return false;
        const Slot lease = session->leases.first;
        if (leases == SessionLeases::release) {
            begin_step();
            end_lease(lease, EventKind::released, Cause::session_end);
        } else {
            ++visited_;
            leave_session(lease);
        }
    }
    while (session->entries.first != no_slot) {
        if (is_enough()) return false;
        ++visited_;
        drop_entry(session->entries.first);
    }
    begin_step();
    emit(EventKind::session_ended, *session);
    sessions_.erase(id.slot);
    return true;
}

// The lease stays when its session ends.
void LockTable::leave_session(Slot lease) {
    Session& session = sessions_[leases_[lease].session];
    unlink(leases_, session_lease_links, session.leases, lease);
    --session.lease_count;
    // Without its session the lease belongs to another identity.
    const bool is_wanted = leases_[lease].is_wanted;
    if (is_wanted) stop_wanting(lease);
    leases_[lease].session = no_slot;
    leases_[lease].has_entry = false;
    if (is_wanted) want(lease);
}

// ---- Two-phase acquire ----

Outcome LockTable::enqueue(Time now, const AcquireRequest& request) {
    advance(now);
    if (find_session(request.session) == nullptr) return Outcome::refuse(Refusal::unknown_session);
    const Slot session = request.session.slot;
    std::string scope = to_text(request.scope);
    const Slot earlier = find_entry(session, scope);
    if (earlier != no_slot) settle_entry(earlier);
    if (earlier != no_slot && !entries_[earlier].is_expired) {
        return Outcome::refuse(Refusal::already_enqueued);
    }
    AcquireRequest patient = request;
    patient.wait = wait_forever;
    patient.renew_own = false;  // an entry stands for a waiter or lease of its own
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
    settle_entry(slot);
    const bool is_expired = entries_[slot].is_expired;
    const Slot waiting = entries_[slot].waiter;
    const Fence fence = entries_[slot].fence;
    const Duration ttl = entries_[slot].ttl;
    drop_entry(slot);
    if (is_expired) return Outcome::refuse(Refusal::lease_ended);
    if (waiting == no_slot) {
        const Slot lease = find_lease(fence);
        CHECK(lease != no_slot);  // otherwise the entry would have ended
        leases_[lease].has_entry = false;
        LeaseTerms terms = leases_[lease].terms();
        terms.ttl = ttl;
        restart_lease(lease, add_saturating(now_, ttl), terms);
        return with_lease(Outcome::Kind::granted, lease);
    }
    Waiter& waiter = waiters_[waiting];
    waiter.has_entry = false;
    if (timeout <= Duration::zero()) {
        remove_waiter(waiting, EventKind::wait_timed_out, Cause::request);
        return Outcome::refuse(Refusal::timed_out);
    }
    set_deadline(waiter, add_saturating(now_, timeout));
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

// REQUIRES: the lease or waiter has an entry.
Slot LockTable::find_entry(const Claim& claim) const {
    return find_entry(claim.session, to_text(scope_of(claim)));
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

// The lease of an entry ends. REQUIRES: the lease has an entry, and still belongs to its session.
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
