// Identities: who waits, and who is waited for.
//
// An identity is what can wait for one thing at a time: a session; without one an owner or, if
// requests say so, one of its threads or tasks (Notes::waiter). Deadlocks are cycles of identities.
//
// There is a record of an identity only while it waits, or while it has a lease that somebody has
// waited for, or one on a crowded lock. So other requests that are granted at once, and leases that
// nobody waits for, have nothing to do with identities, and cost nothing here. A client without a
// record cannot be part of a cycle: nobody waits for it.
//
// Which leases are wanted: while a resource has waiters, all its holders are marked, and their
// leases are counted by their identities (Identity::wanted). Holders are in the order of their
// grants, and without waiters nobody is marked. So when the first waiter comes, the holders that
// are not marked yet are the last ones of the list, and each of them is marked once in its life. On a
// crowded lock (lock_table_own.cc) every holder is marked at once: there would be too many later.
//
// A lease in grace belongs to nobody: its end comes by itself.
//
// An identity is entangled if it waits for several locks: by a set, or by several requests. Other
// waiters in a queue wait for nothing but that lock. So whoever looks for deadlocks passes over
// them, and need not look at a queue at all that has no entangled waiters.
//
// Many clients may have one owner's name, and name no waiters. They are one identity, whose waits say
// nothing about each other. Such a crowd is known by the number of its waiters, and is left alone. Only
// its sets still count as entangled: each of them waits for several locks by itself.
//
// Every cycle has a client that others wait for while it waits, or one that waits twice: along a chain
// of other clients the waiters only become older. These clients are the suspects, where a search for
// all deadlocks begins.

#include <utility>

#include "base/check.h"
#include "core/lock_table.h"

namespace holdfast::core {

// REQUIRES: the record leads, if it is one of a set.
IdentityKey LockTable::identity_key(const Claim& claim) const {
    if (claim.session != no_slot) return {.session = sessions_[claim.session].id.serial};
    return {.owner = {.door = claim.door, .name = claim.owner},
            .waiter = claim.notes.view().waiter};
}

IdentityKey LockTable::identity_key(const AcquireRequest& request) {
    if (request.session) return {.session = request.session.serial};
    return {.owner = request.owner, .waiter = request.notes.waiter};
}

std::uint32_t LockTable::hash_of_identity(const IdentityKey& key) const {
    const std::uint64_t seed = hash_seed_ + static_cast<unsigned>(key.owner.door) + key.session;
    std::uint64_t hash = hash_text(seed, key.owner.name);
    if (!key.waiter.empty()) hash = hash_text(hash, key.waiter);
    return static_cast<std::uint32_t>(hash);
}

Slot LockTable::find_identity(const IdentityKey& key) const {
    if (identities_.size() == 0) return no_slot;
    return identities_by_key_.find(hash_of_identity(key),
                                   [&](Slot slot) { return identities_[slot].key() == key; });
}

// The identity with this key; a new one if there is none.
Slot LockTable::need_identity(const IdentityKey& key) {
    const std::uint32_t hash = hash_of_identity(key);
    Slot slot =
        identities_by_key_.find(hash, [&](Slot one) { return identities_[one].key() == key; });
    if (slot != no_slot) return slot;
    slot = identities_.emplace(key, hash);
    identities_by_key_.insert({.slot = slot, .hash = hash});
    return slot;
}

void LockTable::drop_identity_if_unused(Slot slot) {
    const Identity& identity = identities_[slot];
    if (identity.wanted > 0 || identity.waiters.first != no_slot) return;
    CHECK(!identity.is_suspect);
    identities_by_key_.erase({.slot = slot, .hash = identity.hash});
    identities_.erase(slot);
}

// A new waiter. REQUIRES: its owner, notes and session are set, and it is in its queues.
void LockTable::enter_identity(Slot waiter) {
    const Slot slot = need_identity(identity_key(waiters_[waiter]));
    Identity& identity = identities_[slot];
    const Slot other = identity.waiters.first;
    waiters_[waiter].identity = slot;
    append(waiters_, identity_links, identity.waiters, waiter);
    ++identity.waiter_count;
    suspect_if_it_may_be_stuck(slot);
    if (identity.is_crowd) {
        if (waiters_[waiter].is_set) count_entangled(waiter, 1);
        return;
    }
    if (identity.waiter_count >= crowd_waiters_min) return become_crowd(slot);
    if (identity.is_entangled) return count_entangled(waiter, 1);
    const bool is_elsewhere =
        other != no_slot && waiters_[other].resource != waiters_[waiter].resource;
    if (!is_elsewhere && !waiters_[waiter].is_set) return;
    identity.is_entangled = true;
    for (Slot one = identity.waiters.first; one != no_slot; one = waiters_[one].identity_next) {
        count_entangled(one, 1);
    }
}

// A waiter is about to leave its queues. REQUIRES: it still has all its records.
void LockTable::leave_identity(Slot waiter) {
    const Slot slot = waiters_[waiter].identity;
    Identity& identity = identities_[slot];
    if (identity.is_entangled || waiters_[waiter].is_set) count_entangled(waiter, -1);
    unlink(waiters_, identity_links, identity.waiters, waiter);
    --identity.waiter_count;
    if (identity.waiters.first == no_slot) identity.is_entangled = identity.is_crowd = false;
    suspect_if_it_may_be_stuck(slot);
    drop_identity_if_unused(slot);
}

// From now on nobody looks for deadlocks of this identity. Its last waiter is not counted yet.
void LockTable::become_crowd(Slot slot) {
    Identity& identity = identities_[slot];
    identity.is_crowd = true;
    suspect_if_it_may_be_stuck(slot);
    const Slot last = identity.waiters.last;
    if (waiters_[last].is_set) count_entangled(last, 1);
    if (!std::exchange(identity.is_entangled, false)) return;
    for (Slot one = identity.waiters.first; one != last; one = waiters_[one].identity_next) {
        if (!waiters_[one].is_set) count_entangled(one, -1);
    }
}

void LockTable::suspect_if_it_may_be_stuck(Slot slot) {
    Identity& identity = identities_[slot];
    const bool is_suspect = !identity.is_crowd && identity.waiter_count > 0 &&
                            (identity.wanted > 0 || identity.waiter_count > 1);
    if (is_suspect == identity.is_suspect) return;
    identity.is_suspect = is_suspect;
    if (is_suspect) {
        append(identities_, suspect_links, suspects_, slot);
    } else {
        unlink(identities_, suspect_links, suspects_, slot);
    }
}

// The waiter belongs to an entangled identity, or no longer.
void LockTable::count_entangled(Slot waiter, int change) {
    const auto count = [&](Slot record) {
        resources_[waiters_[record].resource].entangled_count += static_cast<std::uint32_t>(change);
    };
    count(waiter);
    if (!waiters_[waiter].is_set) return;
    for (const Slot other : waiters_[waiter].notes.others()) count(other);
}

// The resource has got its first waiter.
void LockTable::mark_holders(Resource& resource) {
    for (Slot slot = resource.holders.last; slot != no_slot && !leases_[slot].is_marked;
         slot = leases_[slot].previous) {
        ++visited_;
        mark_holder(slot);
    }
}

// Somebody waits on the resource of this holder.
void LockTable::mark_holder(Slot record) {
    leases_[record].is_marked = true;
    want(lead(record));
}

// Counts the lease by its identity, once.
void LockTable::want(Slot slot) {
    Lease& lease = leases_[slot];
    if (lease.is_wanted || lease.state != LeaseState::held) return;
    lease.is_wanted = true;
    const Slot identity = need_identity(identity_key(lease));
    ++identities_[identity].wanted;
    suspect_if_it_may_be_stuck(identity);
}

// REQUIRES: the lease is wanted, and has the owner and the session that it had when it became so.
void LockTable::stop_wanting(Slot slot) {
    Lease& lease = leases_[slot];
    lease.is_wanted = false;
    const Slot identity = find_identity(identity_key(lease));
    CHECK(identity != no_slot && identities_[identity].wanted > 0);
    --identities_[identity].wanted;
    suspect_if_it_may_be_stuck(identity);
    drop_identity_if_unused(identity);
}

}  // namespace holdfast::core
