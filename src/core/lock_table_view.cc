// What the table shows: outcomes, changes and listings.

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "core/lock_table.h"

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

// Page: of all items that are offered, the first few in their order.
//
// A heap with the last of them at the top: it needs memory only for the page, however many items
// are offered.
template <class Item, class IsBefore>
class Page {
  public:
    Page(std::size_t size_max, IsBefore is_before)
        : size_max_(size_max), is_before_(std::move(is_before)) {}

    void offer(Item item) {
        if (items_.size() == size_max_) {
            if (items_.empty() || !is_before_(item, items_.front())) return;
            std::pop_heap(items_.begin(), items_.end(), is_before_);
            items_.pop_back();
        }
        items_.push_back(std::move(item));
        std::push_heap(items_.begin(), items_.end(), is_before_);
    }

    // The items in their order. The page is empty after that.
    [[nodiscard]] std::vector<Item> take() {
        std::sort_heap(items_.begin(), items_.end(), is_before_);
        return std::exchange(items_, {});
    }

  private:
    const std::size_t size_max_;
    const IsBefore is_before_;
    std::vector<Item> items_;
};

// The order of listings: by kind, then by name or number.
bool is_listed_before(const Scope& a, const Scope& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    return a.kind == ScopeKind::inode ? a.inode < b.inode : a.name < b.name;
}

}  // namespace

// The scope of a whole resource: for an inode, all its bytes.
Scope LockTable::scope_of(const Resource& resource) const {
    Scope scope{.kind = scope_kind(resource.kind)};
    if (resource.kind != ResourceKind::inode) {
        scope.name = resource.key.view();
    } else {
        std::memcpy(&scope.inode, resource.key.view().data(), sizeof scope.inode);
    }
    return scope;
}

Scope LockTable::scope_of(const Claim& claim) const {
    Scope scope = scope_of(resources_[claim.resource]);
    scope.kind = claim.kind;
    if (claim.range_item != no_slot) scope.range = ranges_[claim.range_item].range;
    return scope;
}

LeaseView LockTable::view(const Lease& lease) const {
    LeaseView seen;
    describe(lease, resources_[lease.resource], seen);
    return seen;
}

// Writes what leases and waiters have in common into a fresh view.
void LockTable::describe(const Claim& claim, const Resource& resource, LeaseView& seen) const {
    seen.scope.kind = claim.kind;
    if (resource.kind != ResourceKind::inode) {
        seen.scope.name = resource.key.view();
    } else {
        seen.scope = scope_of(claim);
    }
    seen.owner = {.door = claim.door, .name = claim.owner};
    seen.mode = claim.mode;
    seen.ttl = claim.ttl;
    if (claim.session != no_slot) seen.session = sessions_[claim.session].id;
    seen.version = resource.version;
    if (claim.notes.empty()) return;
    seen.notes = claim.notes.view();
    seen.members = claim.notes.members();
    seen.value = claim.notes.value();
    seen.revision = claim.notes.revision();
}

// A record of a set that does not lead: the lease, with the scope of the record.
void LockTable::describe_member(const Lease& record, const Resource& resource,
                                LeaseView& seen) const {
    const Lease& leader = leases_[record.leader()];
    describe(leader, resources_[leader.resource], seen);
    seen.scope = scope_of(record);
    seen.mode = record.mode;
    seen.version = resource.version;
}

// Writes a whole lease into a fresh view.
void LockTable::describe(const Lease& lease, const Resource& resource, LeaseView& seen) const {
    if (lease.is_member) return describe_member(lease, resource, seen);
    describe(static_cast<const Claim&>(lease), resource, seen);
    const bool is_in_grace = lease.expires_at <= now_ && lease.grace > Duration::zero();
    seen.state = lease.state == LeaseState::held && is_in_grace ? LeaseState::grace : lease.state;
    seen.is_transient = lease.is_transient;
    seen.renewals = lease.renewals;
    seen.token = lease.token;
    seen.acquired_at = lease.acquired_at;
    seen.expires_at = lease.expires_at;
    seen.grace_until = lease.grace_until();
}

// `waiter_ahead` is the nearest earlier waiter that is in the way of this one, if there is any. A
// waiter for a range knows it by itself.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the waiter first
WaiterView LockTable::view(Slot slot, Slot waiter_ahead) const {
    const Waiter& record = waiters_[slot];
    const Waiter& waiter = waiters_[record.id.slot];
    WaiterView seen{.id = waiter.id,
                    .scope = scope_of(record),
                    .owner = {.door = waiter.door, .name = waiter.owner},
                    .mode = record.mode,
                    .since = waiter.since,
                    .deadline = waiter.deadline,
                    .notes = waiter.notes.view(),
                    .members = waiter.notes.members()};
    if (waiter.session != no_slot) seen.session = sessions_[waiter.session].id;
    const Slot blocked_slot = blocked_record(slot);
    const Waiter& blocked = waiters_[blocked_slot];
    if (blocked_slot != slot) waiter_ahead = blocked.previous;
    Slot blocking_waiter = waiter_ahead;
    Slot blocking_lease = resources_[blocked.resource].holders.first;
    if (blocked.range_item != no_slot) {
        blocking_waiter = blocking_lease = no_slot;
        if (const Slot watched = ranges_[blocked.range_item].watched; watched != no_slot) {
            const RangeIndex::Item& blocker = ranges_[watched];
            (blocker.is_waiter ? blocking_waiter : blocking_lease) = blocker.record;
        }
    }
    if (blocking_waiter != no_slot) {
        const Waiter& blocker = waiters_[waiters_[blocking_waiter].id.slot];
        seen.blocker = {.door = blocker.door, .name = blocker.owner};
        seen.is_blocked_by_waiter = true;
    } else if (blocking_lease != no_slot) {  // otherwise its turn has come, and it is granted soon
        const Lease& blocker = leases_[lead(blocking_lease)];
        seen.blocker = {.door = blocker.door, .name = blocker.owner};
        seen.blocker_fence = blocker.token.fence;
    }
    return seen;
}

// The first holder of a page. Holders are in the order of their grants.
Slot LockTable::first_holder_after(const Resource& resource, Fence after) const {
    if (after == Fence{}) return resource.holders.first;
    if (resource.is_crowded) {
        const Slot slot = leases_[resource.holders.first].resource;
        return own_leases_.first_after(key_of(slot, OwnGroup::any, 0), as_number(after));
    }
    Slot slot = resource.holders.first;
    for (; slot != no_slot && leases_[slot].token.fence <= after; slot = leases_[slot].next) {
        ++visited_;
    }
    return slot;
}

LockView LockTable::view(Slot slot, std::size_t waiters_max, const HolderPage& holders) const {
    const Resource& resource = resources_[slot];
    LockView seen{.scope = scope_of(resource),
                  .limit = resource.limit,
                  .version = resource.version,
                  .holder_count = resource.holder_count,
                  .waiter_count = resource.waiter_count};
    seen.holders.reserve(std::min<std::size_t>(resource.holder_count, holders.limit));
    for (Slot lease = first_holder_after(resource, holders.after); lease != no_slot;
         lease = leases_[lease].next) {
        ++visited_;
        // A page ends between two leases: a set may have several records on an inode.
        const bool is_full = seen.holders.size() >= holders.limit;
        if (is_full && (seen.holders.empty() || !leases_[lease].is_member ||
                        leases_[lease].token != seen.holders.back().token)) {
            break;
        }
        seen.holders.push_back(view(leases_[lease]));
    }
    Slot last_exclusive = no_slot;
    for (Slot waiter = resource.waiters.first;
         waiter != no_slot && seen.waiters.size() < waiters_max; waiter = waiters_[waiter].next) {
        seen.waiters.push_back(view(waiter, waiter_in_the_way(waiter, last_exclusive)));
        seen.waiters.back().position = seen.waiters.size();
        if (waiters_[waiter].mode == Mode::exclusive) last_exclusive = waiter;
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
        const Match match{scope_of(resource), slot};
        if (query.kind && *query.kind != match.scope.kind) return;
        if (!query.prefix.empty() && !match.scope.name.starts_with(query.prefix)) return;
        if (query.after && !is_listed_before(*query.after, match.scope)) return;
        if (query.filter && !query.filter->includes(match.scope)) return;
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
    // `any` and `all` of the records of a lease; of a set there are several.
    const auto any = [this](const Lease& lease, const auto& is_it) {
        if (is_it(lease)) return true;
        if (!lease.is_set) return false;
        const auto& others = lease.notes.others();
        return std::any_of(others.begin(), others.end(),
                           [&](Slot other) { return is_it(leases_[other]); });
    };
    Fence last{};
    const auto consider = [&](Slot slot, const Lease& record) {
        if (record.is_member && !query.on) return;
        slot = lead(slot);
        const Lease& lease = leases_[slot];
        if (!is_live(lease) || lease.token.fence <= query.after) return;
        const bool is_elsewhere = query.on && record.range_item != no_slot &&
                                  !ranges_[record.range_item].range.overlaps(query.on->range);
        if (is_elsewhere || lease.token.fence == last) return;  // or it is in the list already
        const bool is_of_kind =
            !query.kind || any(lease, [&](const Lease& one) { return one.kind == *query.kind; });
        if (!is_of_kind || (!query.holder.empty() && query.holder != lease.owner)) return;
        const bool is_hidden = query.filter && any(lease, [&](const Lease& one) {
                                   return !query.filter->includes(scope_of(one));
                               });
        if (is_hidden) return;
        last = lease.token.fence;
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

// The outcome for a lease that was just granted or renewed: the last change describes it already.
Outcome LockTable::told(Outcome::Kind kind) const {
    const Event& event = changes_.last();
    return {.kind = kind, .lease = event.lease, .previous_owner = event.previous_owner};
}

// Writes a transition of a lease or a waiter into a fresh event.
template <class Record>
void LockTable::describe(EventKind kind, Cause cause, const Record& record, Event& event) const {
    const Resource& resource = resources_[record.resource];
    event.kind = kind;
    event.cause = cause;
    event.at = now_;
    describe(record, resource, event.lease);
    event.grace = record.grace;
    event.memory = record.memory;
    event.limit = resource.limit;
    event.queue_length = resource.waiter_count;
}

// Who has asked for what happens for this reason.
std::string_view LockTable::asker(Cause cause) const {
    const bool is_by_itself = cause == Cause::none || cause == Cause::restart;
    return is_by_itself ? std::string_view() : by_;
}

// `waited`: the waiter that is granted the lock, whatever has made way for it.
void LockTable::emit(EventKind kind, Cause cause, const Lease& lease, const Waiter* waited) {
    changes_.add_filled([&](Event& event) {
        describe(kind, cause, lease, event);
        if (kind == EventKind::granted) event.previous_owner = previous_owner_;
        event.by = waited == nullptr ? asker(cause) : waited->by;
        if (waited == nullptr) return;
        event.waiter = waited->id;
        event.waiting_since = waited->since;
    });
}

// `is_now_kept`: the lease was transient, so for a store it begins now.
void LockTable::emit_renewed(const Lease& lease, bool has_new_terms, Cause cause,
                             bool is_now_kept) {
    changes_.add_filled([&](Event& event) {
        describe(EventKind::renewed, cause, lease, event);
        event.has_new_terms = has_new_terms;
        if (is_now_kept || cause == Cause::force) event.by = asker(cause);
    });
}

void LockTable::emit(EventKind kind, Cause cause, const Waiter& waiter) {
    changes_.add_filled([&](Event& event) {
        describe(kind, cause, waiter, event);
        event.by = asker(cause);
        event.waiter = waiter.id;
        event.waiting_since = waiter.since;
    });
}

void LockTable::emit(EventKind kind, const Session& session) {
    Event event{.kind = kind, .at = now_};
    event.lease.owner = {.door = session.door, .name = session.owner};
    event.lease.session = session.id;
    event.by = by_;
    changes_.add(event);
}

}  // namespace holdfast::core
