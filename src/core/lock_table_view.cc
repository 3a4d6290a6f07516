// What the table shows: outcomes, events and listings.

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "core/containers/slot_list.h"
#include "core/lock_table.h"
#include "core/values/page.h"

namespace holdfast::core {

namespace {

ScopeKind scope_kind(ResourceKind kind) {
    switch (kind) {
        case ResourceKind::named: return ScopeKind::named;
        case ResourceKind::semaphore: return ScopeKind::semaphore;
        case ResourceKind::path: return ScopeKind::path;
        case ResourceKind::inode: break;
    }
    return ScopeKind::inode;
}

// The order of listings: by kind, then by name or number.
bool is_listed_before(const Scope& a, const Scope& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    return a.kind == ScopeKind::inode ? a.inode < b.inode : a.name < b.name;
}

}  // namespace

Scope LockTable::scope_of(const Resource& resource, ScopeKind kind, Slot range_item) const {
    Scope scope;
    describe(resource, kind, range_item, scope);
    return scope;
}

// Writes a scope into a fresh one.
void LockTable::describe(const Resource& resource, ScopeKind kind, Slot range_item,
                         Scope& scope) const {
    scope.kind = kind;
    if (resource.kind != ResourceKind::inode) {
        scope.name = resource.key.view();
        return;
    }
    std::memcpy(&scope.inode, resource.key.view().data(), sizeof scope.inode);
    if (range_item != no_slot) scope.range = ranges_[range_item].range;
}

LeaseView LockTable::view(const Lease& lease) const {
    LeaseView seen;
    describe(lease, resources_[lease.resource], seen);
    return seen;
}

// Writes what there is to see of a lease into a fresh view.
void LockTable::describe(const Lease& lease, const Resource& resource, LeaseView& seen) const {
    describe(resource, lease.kind, lease.range_item, seen.scope);
    seen.owner = {.door = lease.door, .name = lease.owner};
    seen.mode = lease.mode;
    seen.state = lease.state;
    seen.is_transient = lease.is_transient;
    seen.renewals = lease.renewals;
    seen.token = lease.token;
    seen.acquired_at = lease.acquired_at;
    seen.expires_at = lease.expires_at;
    seen.grace_until = lease.grace_until();
    seen.ttl = lease.ttl;
    if (lease.session != no_slot) seen.session = sessions_[lease.session].id;
    seen.version = resource.version;
    if (!lease.notes.empty()) seen.notes = lease.notes.view();
}

// `waiter_ahead` is the nearest earlier waiter it conflicts with, if any; a range knows its own.
WaiterView LockTable::view(const Waiter& waiter, Slot waiter_ahead) const {
    const Resource& resource = resources_[waiter.resource];
    WaiterView seen{.id = waiter.id,
                    .scope = scope_of(resource, waiter.kind, waiter.range_item),
                    .owner = {.door = waiter.door, .name = waiter.owner},
                    .mode = waiter.mode,
                    .since = waiter.since,
                    .deadline = waiter.deadline,
                    .notes = waiter.notes.view()};
    if (waiter.session != no_slot) seen.session = sessions_[waiter.session].id;
    Slot blocking_waiter = waiter_ahead, blocking_lease = resource.holders.first;
    if (waiter.range_item != no_slot) {
        const RangeIndex::Item& blocker = ranges_[ranges_[waiter.range_item].watched];
        (blocker.is_waiter ? blocking_waiter : blocking_lease) = blocker.record;
        if (!blocker.is_waiter) blocking_waiter = no_slot;
    }
    if (blocking_waiter != no_slot) {
        const Waiter& blocker = waiters_[blocking_waiter];
        seen.blocker = {.door = blocker.door, .name = blocker.owner};
        seen.is_blocked_by_waiter = true;
    } else {
        const Lease& blocker = leases_[blocking_lease];
        seen.blocker = {.door = blocker.door, .name = blocker.owner};
        seen.blocker_fence = blocker.token.fence;
    }
    return seen;
}

// Where a page of holders begins. They are in the order of their grants.
Slot LockTable::first_holder_after(const Resource& resource, Fence after) const {
    if (after == Fence{}) return resource.holders.first;
    // The last of the page before, if it still holds: then the way there is short.
    const Slot last = find_lease(after);
    if (last != no_slot && &resources_[leases_[last].resource] == &resource) {
        return leases_[last].next;
    }
    Slot slot = resource.holders.first;
    while (slot != no_slot && leases_[slot].token.fence <= after) slot = leases_[slot].next;
    return slot;
}

LockView LockTable::view(Slot slot, std::size_t waiters_max, const HolderPage& holders) const {
    const Resource& resource = resources_[slot];
    LockView seen{.scope = scope_of(resource, scope_kind(resource.kind), no_slot),
                  .limit = resource.limit,
                  .version = resource.version,
                  .holder_count = resource.holder_count,
                  .waiter_count = resource.waiter_count};
    seen.holders.reserve(std::min<std::size_t>(resource.holder_count, holders.limit));
    for (Slot lease = first_holder_after(resource, holders.after);
         lease != no_slot && seen.holders.size() < holders.limit; lease = leases_[lease].next) {
        seen.holders.push_back(view(leases_[lease]));
    }
    Slot last_exclusive = no_slot;
    for (Slot slot_ahead = no_slot, waiter = resource.waiters.first;
         waiter != no_slot && seen.waiters.size() < waiters_max;
         slot_ahead = waiter, waiter = waiters_[waiter].next) {
        const bool is_shared = waiters_[waiter].mode == Mode::shared;
        seen.waiters.push_back(view(waiters_[waiter], is_shared ? last_exclusive : slot_ahead));
        seen.waiters.back().position = seen.waiters.size();
        if (!is_shared) last_exclusive = waiter;
    }
    if (resource.lapsed != no_slot) seen.lapsed = view(leases_[resource.lapsed]);
    if (resource.is_idle) seen.idle_since = resource.idle_since;
    return seen;
}

std::optional<LockView> LockTable::inspect(const Scope& scope, std::size_t waiters_max,
                                           const HolderPage& holders) const {
    const Slot slot = find_resource(scope);
    if (slot == no_slot) return std::nullopt;
    return view(slot, waiters_max, holders);
}

std::vector<LockView> LockTable::list(const ListQuery& query) const {
    struct Match {
        Scope scope;
        Slot slot;
    };
    const auto is_before = [](const Match& a, const Match& b) {
        return is_listed_before(a.scope, b.scope);
    };
    Page<Match, decltype(is_before)> page(query.limit, is_before);
    resources_.for_each([&](Slot slot, const Resource& resource) {
        if (resource.is_idle && !query.with_idle) return;
        const Match match{scope_of(resource, scope_kind(resource.kind), no_slot), slot};
        if (query.kind && *query.kind != match.scope.kind) return;
        if (!query.prefix.empty() && !match.scope.name.starts_with(query.prefix)) return;
        if (query.after && !is_listed_before(*query.after, match.scope)) return;
        page.offer(match);
    });
    std::vector<LockView> seen;
    std::size_t holders_left = query.holders_max;
    for (const Match& match : page.take()) {
        const std::size_t wanted =
            std::min<std::size_t>(resources_[match.slot].holder_count, query.holders_per_lock_max);
        const bool is_too_much = wanted > holders_left && !seen.empty();
        const std::size_t shown = is_too_much ? 0 : std::min(wanted, holders_left);
        seen.push_back(view(match.slot, query.waiters_max, {.limit = shown}));
        if (is_too_much) break;
        holders_left -= shown;
    }
    return seen;
}

std::vector<LeaseView> LockTable::list_leases(const LeaseQuery& query) const {
    Page<std::pair<Fence, Slot>, std::less<>> page(query.limit, {});
    const auto consider = [&](Slot slot, const Lease& lease) {
        if (lease.state != LeaseState::held || lease.token.fence <= query.after) return;
        if (query.kind && *query.kind != lease.kind) return;
        if (!query.holder.empty() && query.holder != lease.owner) return;
        const bool is_elsewhere = query.on && lease.range_item != no_slot &&
                                  !ranges_[lease.range_item].range.overlaps(query.on->range);
        if (is_elsewhere) return;
        page.offer({lease.token.fence, slot});
    };
    if (!query.on) {
        leases_.for_each(consider);
    } else if (const Slot resource = find_resource(*query.on); resource != no_slot) {
        for (Slot slot = resources_[resource].holders.first; slot != no_slot;
             slot = leases_[slot].next) {
            consider(slot, leases_[slot]);
        }
    }
    std::vector<LeaseView> seen;
    for (const auto& [fence, slot] : page.take()) seen.push_back(view(leases_[slot]));
    return seen;
}

std::vector<SessionView> LockTable::list_sessions(const SessionQuery& query) const {
    Page<std::pair<std::uint64_t, Slot>, std::less<>> page(query.limit, {});
    sessions_.for_each([&](Slot slot, const Session& session) {
        if (session.id.serial > query.after) page.offer({session.id.serial, slot});
    });
    std::vector<SessionView> seen;
    for (const auto& [serial, slot] : page.take()) {
        const Session& session = sessions_[slot];
        seen.push_back({.id = session.id,
                        .owner = {.door = session.door, .name = session.owner},
                        .opened_at = session.opened_at,
                        .leases = session.lease_count,
                        .waiters = session.waiter_count});
    }
    return seen;
}

Outcome LockTable::with_lease(Outcome::Kind kind, Slot slot) const {
    const Lease& lease = leases_[slot];
    Outcome outcome;
    outcome.kind = kind;
    describe(lease, resources_[lease.resource], outcome.lease);
    return outcome;
}

// Of a lease that was just granted.
Outcome LockTable::granted(Slot lease) const {
    Outcome outcome = with_lease(Outcome::Kind::granted, lease);
    outcome.previous_owner = previous_owner_;
    return outcome;
}

void LockTable::describe(EventKind kind, Cause cause, const Lease& lease, Event& event) const {
    const Resource& resource = resources_[lease.resource];
    event.kind = kind;
    event.cause = cause;
    event.at = now_;
    describe(lease, resource, event.lease);
    event.grace = lease.grace;
    event.memory = lease.memory;
    event.limit = resource.limit;
    event.queue_length = resource.waiter_count;
}

void LockTable::emit(EventKind kind, Cause cause, const Lease& lease, const Waiter* waited) {
    changes_.add_filled([&](Event& event) {
        describe(kind, cause, lease, event);
        if (kind == EventKind::granted) event.previous_owner = previous_owner_;
        if (waited == nullptr) return;
        event.waiter = waited->id;
        event.waiting_since = waited->since;
    });
}

// A renewal.
void LockTable::emit_renewed(const Lease& lease, bool has_new_terms) {
    changes_.add_filled([&](Event& event) {
        describe(EventKind::renewed, Cause::request, lease, event);
        event.has_new_terms = has_new_terms;
    });
}

void LockTable::emit(EventKind kind, Cause cause, const Waiter& waiter) {
    const Resource& resource = resources_[waiter.resource];
    Event event{.kind = kind, .cause = cause, .at = now_};
    event.lease.scope = scope_of(resource, waiter.kind, waiter.range_item);
    event.lease.owner = {.door = waiter.door, .name = waiter.owner};
    event.lease.mode = waiter.mode;
    event.lease.ttl = waiter.ttl;
    event.lease.version = resource.version;
    event.lease.notes = waiter.notes.view();
    if (waiter.session != no_slot) event.lease.session = sessions_[waiter.session].id;
    event.grace = waiter.grace;
    event.memory = waiter.memory;
    event.limit = resource.limit;
    event.waiter = waiter.id;
    event.waiting_since = waiter.since;
    event.queue_length = resource.waiter_count;
    changes_.add(event);
}

void LockTable::emit(EventKind kind, const Session& session) {
    Event event{.kind = kind, .at = now_};
    event.lease.owner = {.door = session.door, .name = session.owner};
    event.lease.session = session.id;
    changes_.add(event);
}

}  // namespace holdfast::core
