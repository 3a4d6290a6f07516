#include <algorithm>

#include "model/naive_conflict.h"
#include "model/naive_table.h"

// What is wrong with a request by itself, and the limits. Rules are named as in rules.md.

namespace holdfast::model {

using namespace core;

// Rule N1.
Refusal NaiveTable::find_flaw(const AcquireRequest& request) const {
    const Limits& limits = options_.limits;
    const ScopeKind kind = request.scope.kind;
    const bool has_name = kind != ScopeKind::inode && kind != ScopeKind::range;
    if (has_name && request.scope.name.empty()) return Refusal::empty_key;
    if (request.scope.name.size() > limits.key_length_max) return Refusal::key_length_max;
    const bool is_empty = request.scope.range.start >= request.scope.range.end;
    if (kind == ScopeKind::range && is_empty) return Refusal::empty_range;
    if (request.owner.name.size() > limits.owner_length_max) return Refusal::owner_length_max;
    if (request.notes.request_id.size() > limits.request_id_length_max) {
        return Refusal::request_id_length_max;
    }
    if (request.notes.metadata.size() > limits.metadata_length_max) {
        return Refusal::metadata_length_max;
    }
    if (request.notes.waiter.size() > limits.waiter_length_max) return Refusal::waiter_length_max;
    if (request.value.size() > limits.value_length_max) return Refusal::value_length_max;
    if (!is_good(request.ttl)) return Refusal::ttl_out_of_range;
    const bool is_count_good = request.limit >= 1 && request.limit <= limits.permits_max;
    if (kind == ScopeKind::semaphore && !is_count_good) return Refusal::permits_max;
    return Refusal::none;
}

// Rule M1: what is wrong with the members by themselves.
Outcome NaiveTable::find_flaw_of_set(const AcquireRequest& request) const {
    if (request.members.size() > options_.limits.set_members_max) {
        return Outcome::refuse(Refusal::sets_max_members);
    }
    for (std::size_t index = 0; index < request.members.size(); ++index) {
        AcquireRequest alone{.scope = request.members[index].scope, .ttl = options_.limits.ttl_min};
        alone.limit = request.members[index].limit;
        const Refusal flaw = find_flaw(alone);
        if (flaw != Refusal::none) return Outcome::refuse(flaw, index);
    }
    std::optional<Outcome> outcome;
    for (std::size_t second = 0; second < request.members.size(); ++second) {
        for (std::size_t first = 0; first < second; ++first) {
            if (!is_overlapping(request.members[first].scope, request.members[second].scope))
                continue;
            outcome = Outcome::refuse(Refusal::overlapping_set, second);
        }
    }
    return outcome.value_or(Outcome{});
}

// Rule N4.
bool NaiveTable::is_full(std::size_t more) const {
    std::size_t count = count_waiters();
    for (const Lease& lease : leases_) count += lease.members.size();
    return count + more > options_.limits.leases_max;
}

// Rule N3: a set counts as often as it has members.
std::size_t NaiveTable::count_waiters() const {
    std::size_t count = 0;
    for (const Waiter& waiter : waiters_) count += waiter.members.size();
    return count;
}

bool NaiveTable::has_limits(Door door) const {
    return options_.door_limits && options_.door_limits->door == door;
}

// Rule N8: whether a lock that no client of the door holds or wants would be one too many for it.
bool NaiveTable::is_door_full(const AcquireRequest& request) const {
    const Door door = request.owner.door;
    if (!has_limits(door) || request.members.size() > 1) return false;
    const auto has = [&](const Scope& scope) {
        return count_waiters(scope, door) > 0 ||
               std::any_of(leases_.begin(), leases_.end(), [&](const Lease& lease) {
                   return lease.view.owner.door == door && is_on(lease.members, scope);
               });
    };
    const auto own = std::count_if(locks_.begin(), locks_.end(),
                                   [&](const Lock& lock) { return has(lock.scope); });
    return !has(request.scope) && static_cast<std::size_t>(own) >= options_.door_limits->locks_max;
}

// Rules N3 and N8.
bool NaiveTable::is_queue_full(const Scope& scope, Door door) const {
    if (count_waiters(scope) >= options_.limits.waiters_per_lock_max) return true;
    return has_limits(door) &&
           count_waiters(scope, door) >= options_.door_limits->waiters_per_lock_max;
}

// Rule I2.
void NaiveTable::forget_idle_of_others(const AcquireRequest& request) {
    if (!options_.idle_door || request.owner.door == *options_.idle_door) return;
    const Members members = members_of(request);
    std::erase_if(locks_,
                  [&](const Lock& lock) { return lock.idle_since && is_on(members, lock.scope); });
}

// Rules N1 and L13.
bool NaiveTable::is_good(Duration ttl) const {
    return ttl == endless || (ttl >= options_.limits.ttl_min && ttl <= options_.limits.ttl_max);
}

// Rule N7.
bool NaiveTable::has_endless_in_full() const {
    std::size_t count = 0;
    for (const Lease& lease : leases_) count += lease.view.ttl == endless ? 1 : 0;
    for (const Waiter& waiter : waiters_) count += waiter.request.ttl == endless ? 1 : 0;
    return count >= options_.limits.endless_leases_max;
}

// The locks that there are not yet, each once.
std::size_t NaiveTable::count_missing(const Members& members) const {
    std::size_t missing = 0;
    for (std::size_t index = 0; index < members.size(); ++index) {
        const Members earlier(members.begin(),
                              members.begin() + static_cast<std::ptrdiff_t>(index));
        const bool is_known = find_lock(members[index].scope) != nullptr;
        if (!is_known && !is_on(earlier, members[index].scope)) ++missing;
    }
    return missing;
}

// Rule N2: whether there may be as many locks. Those that the request is about make no room.
bool NaiveTable::has_room_for(const Members& members) const {
    const auto kept = std::count_if(locks_.begin(), locks_.end(), [&](const Lock& lock) {
        return !lock.idle_since || is_on(members, lock.scope);
    });
    return static_cast<std::size_t>(kept) + count_missing(members) <= options_.limits.locks_max;
}

// Rule N2. False if there is no room.
bool NaiveTable::make_room_for(const Members& members) {
    if (count_missing(members) == 0) return true;
    if (!has_room_for(members)) return false;
    while (locks_.size() + count_missing(members) > options_.limits.locks_max) {
        const Lock* oldest = nullptr;
        for (const Lock& lock : locks_) {
            if (!lock.idle_since || is_on(members, lock.scope)) continue;
            const bool is_older = oldest == nullptr || *lock.idle_since < *oldest->idle_since;
            const bool is_chosen = oldest != nullptr && *lock.idle_since == *oldest->idle_since &&
                                   !witness_.has_lock(lock.scope);
            if (is_older || is_chosen) oldest = &lock;
        }
        locks_.erase(locks_.begin() + (oldest - locks_.data()));
    }
    return true;
}

}  // namespace holdfast::model
