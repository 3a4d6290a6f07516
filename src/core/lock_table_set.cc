// Sets: several scopes, all or nothing, in turn.
//
// A set has a record for each of its scopes (records.h), so each resource knows its holders and
// waiters as if there were no sets. The record of the first scope leads: it is the lease or the
// waiter.
//
// A waiting set stands in the queue of each of its scopes, also of those that are free: otherwise a
// later request could take one of these, and the set might wait for ever. All its records have one
// serial number, and join their queues in one moment. A record is in its turn when nothing is in
// its way in its own queue: no holder and no earlier waiter. Once in its turn it stays so, because
// all that comes later stands behind it. When all records of the set are in their turn, the set is
// granted.
//
// Why sets alone cannot wait for each other in a circle: a waiting set holds nothing, so it is in
// the way of others only as an earlier waiter. A waiter waits for holders, and for waiters with
// smaller serial numbers. So along any chain of waiters the serial numbers fall, and the chain ends
// at a holder. If nobody holds one lease while it waits for another, that holder waits for nobody,
// and will end its lease. In particular the oldest waiter of all waits for holders alone. (Whoever
// does hold one lease while it waits for another can close a circle: deadlock_search.h.)
//
// When a set ends, is granted or gives up, waiters may move up in all its queues, and these may be
// sets again. touched_ is the list of resources to look at: a list, not recursion.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text/utf8.h"
#include "core/lock_table.h"

namespace holdfast::core {

// ---- Asking ----

Outcome LockTable::admit_set(const AcquireRequest& request, bool is_two_phase) {
    if (Outcome fault = find_fault_of_set(request); fault.refusal != Refusal::none) return fault;
    if (const Refusal fault = find_fault(request); fault != Refusal::none) {
        return Outcome::refuse(fault);
    }
    if (request.session && find_session(request.session) == nullptr) {
        return Outcome::refuse(Refusal::unknown_session);
    }
    for (const SetMember& member : request.members) forget_idle(member.scope, request.owner.door);
    settle(request);
    AskedSet asked = look_up(request);
    if (Outcome fault = find_mismatch(request, asked); fault.refusal != Refusal::none) return fault;
    std::string members = text_of(asked);
    if (auto outcome = admit_owner_of_set(asked, members, request)) return *outcome;
    const auto unreadable = std::find_if(asked.begin(), asked.end(), [](const Asked& one) {
        return !base::is_utf8(one.member.scope.name);
    });
    if (unreadable != asked.end()) {
        return Outcome::refuse(Refusal::name_not_utf8,
                               static_cast<std::size_t>(unreadable - asked.begin()));
    }

    const auto taken =
        std::find_if(asked.begin(), asked.end(), [](const Asked& one) { return !one.is_free; });
    const bool is_free = taken == asked.end();
    if (!is_free && request.wait <= Duration::zero()) {
        Outcome outcome =
            refuse_held(taken->resource, taken->member.scope.range, taken->member.mode);
        outcome.member = static_cast<std::size_t>(taken - asked.begin());
        return outcome;
    }
    if (!has_room_for_leases(asked.size())) return Outcome::refuse(Refusal::leases_max);
    if (is_one_endless_too_many({}, request.ttl)) {
        return Outcome::refuse(Refusal::endless_leases_max);
    }
    if (!is_free) return join_queues(asked, std::move(members), request, is_two_phase);
    if (!has_room_for_locks(asked)) return Outcome::refuse(Refusal::locks_max);
    make_resources(asked);
    grant_set(asked, std::move(members), request);
    return told(Outcome::Kind::granted);
}

// What is wrong with the members of a request by themselves: a refusal, or an outcome without one.
Outcome LockTable::find_fault_of_set(const AcquireRequest& request) const {
    const auto& members = request.members;
    CHECK(members.front().scope == request.scope);
    if (members.size() > limits_.set_members_max) return Outcome::refuse(Refusal::sets_max_members);
    for (std::size_t index = 0; index < members.size(); ++index) {
        const Refusal fault = find_fault(members[index].scope);
        if (fault != Refusal::none) return Outcome::refuse(fault, index);
        if (!is_valid_limit(members[index].scope, members[index].limit)) {
            return Outcome::refuse(Refusal::permits_max, index);
        }
    }
    const auto overlap = find_overlap(members);
    if (overlap) return Outcome::refuse(Refusal::overlapping_set, overlap->second);
    return {};
}

// The scopes of a request, of one or several, with their resources as far as there are any.
LockTable::AskedSet LockTable::look_up(const AcquireRequest& request) const {
    AskedSet asked;
    asked.reserve(std::max<std::size_t>(request.members.size(), 1));
    const auto add = [&](const SetMember& member) {
        Asked one{.member = member, .resource = find_resource(member.scope)};
        const bool is_semaphore = member.scope.kind == ScopeKind::semaphore;
        if (is_semaphore) one.member.mode = Mode::exclusive;  // permits have no modes
        if (!is_semaphore) one.member.limit = 1;
        one.is_free = one.resource == no_slot ||
                      is_free_for(one.resource, member.scope.range, one.member.mode);
        asked.push_back(one);
    };
    for (const SetMember& member : request.members) add(member);
    if (asked.empty()) {
        add({.scope = request.scope, .mode = request.mode, .limit = request.limit});
    }
    return asked;
}

std::string LockTable::text_of(const AskedSet& asked) {
    std::vector<SetMember> members;
    members.reserve(asked.size());
    for (const Asked& one : asked) members.push_back(one.member);
    return set_to_text(members);
}

// A member that is of another kind than what there is: a refusal, or an outcome without one.
Outcome LockTable::find_mismatch(const AcquireRequest& request, const AskedSet& asked) const {
    for (std::size_t index = 0; index < asked.size(); ++index) {
        const auto& [member, resource, is_free] = asked[index];
        if (request.is_only_kind && !is_in_use(resource) && is_other_kind_in_use(member.scope)) {
            return Outcome::refuse(Refusal::other_kind, index);
        }
        if (resource != no_slot && member.scope.kind == ScopeKind::semaphore &&
            resources_[resource].limit != member.limit) {
            return Outcome::refuse(Refusal::limit_mismatch, index);
        }
    }
    return {};
}

// As admit_owner(): the owner of a lease on exactly this set has it again in its grace, or renews
// it.
std::optional<Outcome> LockTable::admit_owner_of_set(const AskedSet& asked,
                                                     const std::string& members,
                                                     const AcquireRequest& request) {
    const Slot first = asked.front().resource;
    if (first == no_slot || (!request.renew_own && resources_[first].grace_count == 0)) {
        return std::nullopt;
    }
    const Slot slot = find_own(first, {.owner = request.owner,
                                       .scope = request.scope,
                                       .members = members,
                                       .held = request.renew_own,
                                       .in_grace = true});
    if (slot == no_slot) return std::nullopt;
    const Lease& lease = leases_[slot];
    if (is_one_endless_too_many(lease.ttl, request.ttl)) {
        return Outcome::refuse(Refusal::endless_leases_max);
    }
    if (lease.state == LeaseState::grace) {
        reclaim(slot, request);
        return told(Outcome::Kind::granted);
    }
    LeaseTerms terms = request.terms();
    terms.is_transient = lease.is_transient && request.is_transient;
    restart_lease(slot, add_saturating(now_, request.ttl), terms);
    return told(Outcome::Kind::renewed);
}

// Whether there may be as many locks as the request needs. Idle ones make room, but not those that
// the request is about.
bool LockTable::has_room_for_locks(const AskedSet& asked) const {
    std::size_t missing = 0, idle = 0;
    for (auto one = asked.begin(); one != asked.end(); ++one) {
        const Scope& scope = one->member.scope;
        // Ranges of one inode have one resource.
        const bool is_counted =
            scope.is_of_inode() && std::any_of(asked.begin(), one, [&](const Asked& earlier) {
                return earlier.member.scope.is_of_inode() &&
                       earlier.member.scope.inode == scope.inode;
            });
        if (is_counted) continue;
        if (one->resource == no_slot) {
            ++missing;
        } else if (resources_[one->resource].is_idle) {
            ++idle;
        }
    }
    // There may be more than the limit, if they were there before it was lowered.
    return missing == 0 || resources_.size() + missing <= limits_.locks_max + idle_count_ - idle;
}

// Makes the resources that there are not yet, where idle ones were if there are too many.
void LockTable::make_resources(AskedSet& asked) {
    for (const Asked& one : asked) {
        if (one.resource != no_slot) wake_idle(one.resource);
    }
    for (Asked& one : asked) {
        if (one.resource != no_slot) continue;
        const ResourceKey key(one.member.scope, hash_seed_);
        if (key.kind() == ResourceKind::inode) one.resource = find_resource(key);
        if (one.resource == no_slot && resources_.size() >= limits_.locks_max &&
            idle_.first != no_slot) {
            drop_resource(idle_.first);
        }
        if (one.resource == no_slot) one.resource = make_resource(key, one.member.limit);
        CHECK(one.resource != no_slot);
    }
}

// ---- The lease ----

// Grants a set that did not have to wait.
void LockTable::grant_set(const AskedSet& asked, std::string members,
                          const AcquireRequest& request) {
    note_previous_owner(asked.front().resource);
    const Slot slot = leases_.emplace();
    Lease& lease = leases_[slot];
    fill(lease, asked.front().resource, request);
    lease.mode = asked.front().member.mode;
    lease.is_set = true;
    lease.notes.set_members(std::move(members));
    count_endless({}, request.ttl);
    add_holder(slot, request.scope.range);
    for (std::size_t index = 1; index < asked.size(); ++index) add_member(slot, asked[index]);
    start_lease(slot, request.secret, request.session ? request.session.slot : no_slot);
    share_token(slot);
    emit(EventKind::granted, Cause::request, lease);
}

// Adds the record of another scope to the holders of its resource. `range_item`: it was a waiter,
// and has its range already.
void LockTable::add_member(Slot leader, const Asked& asked, Slot range_item) {
    drop_lapsed(asked.resource);
    const Slot slot = leases_.emplace();
    Lease& record = leases_[slot];
    record.resource = asked.resource;
    record.kind = asked.member.scope.kind;
    record.mode = asked.member.mode;
    record.range_item = range_item;
    record.expires_at = Time::max();  // nothing happens to it by itself
    record.set_leader(leader);
    add_holder(slot, asked.member.scope.range);
    leases_[leader].notes.others().push_back(slot);
    ++lease_member_count_;
}

// The lease has got its token: so do its other records, and their scopes have a new version. If
// somebody waits for one of them, the lease is wanted.
void LockTable::share_token(Slot slot) {
    const Lease& leader = leases_[slot];
    for (const Slot other : leader.notes.others()) {
        Lease& record = leases_[other];
        record.token = leader.token;
        ++resources_[record.resource].version;
        if (resources_[record.resource].waiter_count > 0) mark_holder(other);
        note_own(other);
    }
}

// A set in grace is had again by its owner: what reclaim() does, for the other scopes.
void LockTable::reclaim_members(Slot leader) {
    for (const Slot other : leases_[leader].notes.others()) {
        Lease& record = leases_[other];
        Resource& resource = resources_[record.resource];
        --resource.grace_count;
        forget_own(other);
        record.state = LeaseState::held;
        record.is_marked = false;
        drop_lapsed(record.resource);
        unlink(leases_, holder_links, resource.holders, other);
        append(leases_, holder_links, resource.holders, other);
    }
    share_token(leader);
}

void LockTable::begin_grace_of_members(const Lease& leader) {
    for (const Slot other : leader.notes.others()) {
        Resource& resource = resources_[leases_[other].resource];
        forget_own(other);
        leases_[other].state = LeaseState::grace;
        note_own(other);
        ++resource.grace_count;
        ++resource.version;
    }
}

// Whether a lease is on exactly this scope, which is of this resource; a set: on one of its
// members.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the lease first
bool LockTable::is_on(Slot slot, Slot resource, const Scope& scope) const {
    const auto is_record_on = [&](const Lease& record) {
        return record.resource == resource && record.kind == scope.kind &&
               (record.range_item == no_slot || ranges_[record.range_item].range == scope.range);
    };
    const Lease& lease = leases_[slot];
    if (is_record_on(lease)) return true;
    if (!lease.is_set) return false;
    const auto& others = lease.notes.others();
    return std::any_of(others.begin(), others.end(),
                       [&](Slot other) { return is_record_on(leases_[other]); });
}

// All scopes of a set but the first have a new version.
void LockTable::touch_members(const Lease& leader) {
    for (const Slot other : leader.notes.others()) ++resources_[leases_[other].resource].version;
}

// As end_lease(), for a set.
void LockTable::end_set(Slot slot, EventKind kind, Cause cause) {
    visited_ += 1 + leases_[slot].notes.others().size();
    const Slot first = leases_[slot].resource;
    ++resources_[first].version;
    touch_members(leases_[slot]);
    emit(kind, cause, leases_[slot]);
    const std::vector<Slot> others = std::move(leases_[slot].notes.others());
    const bool is_in_grace = leases_[slot].state == LeaseState::grace;
    const Door door = leases_[slot].door;
    touched_.push_back({.resource = first, .watchers = leave_holders(slot, kind)});
    for (const Slot other : others) {
        const Lease& record = leases_[other];
        Resource& resource = resources_[record.resource];
        if (is_in_grace) --resource.grace_count;
        forget_own(other);
        unlink(leases_, holder_links, resource.holders, other);
        if (--resource.holder_count == 0) stop_crowding(resource);
        door_counts_.remove_holder(record.resource, door);
        resource.is_of_idle_door |= idle_door_ == door;
        touched_.push_back({.resource = record.resource, .watchers = {}});
        if (record.range_item != no_slot) {
            touched_.back().watchers = ranges_.remove(resource.ranges, record.range_item);
        }
        leases_.erase(other);
        --lease_member_count_;
    }
    drop_lease(slot);
    hand_on_touched();
}

}  // namespace holdfast::core
