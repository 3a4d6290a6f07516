#include <algorithm>

#include "model/naive_conflict.h"
#include "model/naive_table.h"

// What the table shows. Rules are named as in rules.md.

namespace holdfast::model {

using namespace core;

const NaiveTable::Lock* NaiveTable::find_lock(const Scope& scope) const {
    for (const Lock& lock : locks_) {
        if (is_same_lock(lock.scope, scope)) return &lock;
    }
    return nullptr;
}

NaiveTable::Lock* NaiveTable::find_lock(const Scope& scope) {
    return const_cast<Lock*>(std::as_const(*this).find_lock(scope));
}

bool NaiveTable::is_on(const Members& members, const Scope& lock) {
    return count_on(members, lock) > 0;
}

// How many of the members are on this lock: several, if they are parts of an inode.
std::size_t NaiveTable::count_on(const Members& members, const Scope& lock) {
    return static_cast<std::size_t>(
        std::count_if(members.begin(), members.end(),
                      [&](const SetMember& member) { return is_same_lock(member.scope, lock); }));
}

// The lock of a scope; a new one if there is none.
NaiveTable::Lock& NaiveTable::need_lock(const SetMember& member) {
    if (Lock* lock = find_lock(member.scope)) return *lock;
    const Scope& scope = member.scope;
    const bool is_inode = scope.kind == ScopeKind::inode || scope.kind == ScopeKind::range;
    locks_.push_back({.scope = is_inode ? Scope::of_inode(scope.inode) : scope,
                      .limit = scope.kind == ScopeKind::semaphore ? member.limit : 1});
    return locks_.back();
}

NaiveTable::Entry* NaiveTable::find_entry(SessionId session, const Scope& scope) {
    for (Entry& entry : entries_) {
        if (entry.session == session && entry.scope == scope) return &entry;
    }
    return nullptr;
}

const NaiveTable::Lease* NaiveTable::find_lease(Fence fence) const {
    for (const Lease& lease : leases_) {
        if (lease.view.token.fence == fence) return &lease;
    }
    return nullptr;
}

NaiveTable::Lease* NaiveTable::find_lease(Fence fence) {
    return const_cast<Lease*>(std::as_const(*this).find_lease(fence));
}

bool NaiveTable::has_session(SessionId session) const {
    return std::any_of(sessions_.begin(), sessions_.end(),
                       [&](const Session& other) { return other.id == session; });
}

bool NaiveTable::is_in_use(const Lock& lock) const {
    const bool is_held = std::any_of(leases_.begin(), leases_.end(), [&](const Lease& lease) {
        return is_on(lease.members, lock.scope);
    });
    return is_held || count_waiters(lock.scope) > 0 || lock.last_owner.has_value();
}

std::size_t NaiveTable::count_waiters(const Scope& scope) const {
    std::size_t count = 0;
    for (const Waiter& waiter : waiters_) count += count_on(waiter.members, scope);
    return count;
}

std::size_t NaiveTable::count_waiters(const Scope& scope, Door door) const {
    std::size_t count = 0;
    for (const Waiter& waiter : waiters_) {
        if (waiter.request.owner.door == door) count += count_on(waiter.members, scope);
    }
    return count;
}

std::optional<Time> NaiveTable::next_due() const {
    std::optional<Time> due;
    const auto add = [&due](Time time) {
        if (time != Time::max() && (!due || time < *due)) due = time;
    };
    for (const Lease& lease : leases_) {
        const bool is_held = lease.view.state == LeaseState::held;
        add(is_held ? lease.view.expires_at : lease.view.grace_until);
    }
    for (const Waiter& waiter : waiters_) add(waiter.deadline);
    for (const Lock& lock : locks_) {
        if (lock.last_owner) add(lock.remembered_until);
        if (lock.idle_since) add(add_saturating(*lock.idle_since, options_.idle_retention));
    }
    return due;
}

Outcome NaiveTable::find(Token token) const {
    const Refusal refusal = judge(token, std::nullopt, std::nullopt);
    if (refusal != Refusal::none) return Outcome::refuse(refusal);
    return {.kind = Outcome::Kind::found, .lease = view_of(*find_lease(token.fence))};
}

TableCounts NaiveTable::counts() const {
    const auto idle = std::count_if(locks_.begin(), locks_.end(),
                                    [](const Lock& lock) { return lock.idle_since.has_value(); });
    return {.locks = locks_.size(),
            .idle = static_cast<std::size_t>(idle),
            .leases = list_leases().size(),
            .waiters = waiters_.size(),
            .sessions = sessions_.size(),
            .entries = entries_.size()};
}

LeaseView NaiveTable::view_of(const Lease& lease) const {
    LeaseView view = lease.view;
    view.version = find_lock(view.scope)->version;
    return view;
}

LockView NaiveTable::view_of(const Lock& lock) const {
    LockView view{.scope = lock.scope, .limit = lock.limit, .version = lock.version};
    for (const Lease& lease : leases_) {
        for (const SetMember& member : lease.members) {
            if (!is_same_lock(member.scope, lock.scope)) continue;
            view.holders.push_back(view_of(lease));
            view.holders.back().scope = member.scope;
            view.holders.back().mode = member.mode;
        }
    }
    view.holder_count = view.holders.size();
    for (const Waiter& waiter : waiters_) {
        const AcquireRequest& request = waiter.request;
        for (const SetMember& member : waiter.members) {
            if (!is_same_lock(member.scope, lock.scope)) continue;
            view.waiters.push_back({.id = waiter.id,
                                    .scope = member.scope,
                                    .owner = request.owner,
                                    .mode = member.mode,
                                    .since = waiter.since,
                                    .deadline = waiter.deadline,
                                    .notes = request.notes,
                                    .session = request.session,
                                    .position = view.waiters.size() + 1,
                                    .blocker = {},
                                    .members = waiter.text});
        }
    }
    view.waiter_count = view.waiters.size();
    if (lock.last_owner) view.lapsed = view_of(*lock.last_owner);
    view.idle_since = lock.idle_since;
    return view;
}

std::vector<LockView> NaiveTable::list() const {
    std::vector<LockView> views;
    for (const Lock& lock : locks_) views.push_back(view_of(lock));
    return views;
}

std::vector<LeaseView> NaiveTable::list_leases() const {
    std::vector<LeaseView> views;
    for (const Lease& lease : leases_) {
        if (lease.view.state == LeaseState::held) views.push_back(view_of(lease));
    }
    return views;
}

std::vector<SessionView> NaiveTable::list_sessions() const {
    std::vector<SessionView> views;
    for (const Session& session : sessions_) {
        const auto leases = std::count_if(leases_.begin(), leases_.end(), [&](const Lease& lease) {
            return lease.view.session == session.id && lease.view.state == LeaseState::held;
        });
        const auto waiters = std::count_if(
            waiters_.begin(), waiters_.end(),
            [&](const Waiter& waiter) { return waiter.request.session == session.id; });
        views.push_back({.id = session.id,
                         .owner = session.owner,
                         .opened_at = session.opened_at,
                         .leases = static_cast<std::size_t>(leases),
                         .waiters = static_cast<std::size_t>(waiters)});
    }
    return views;
}

bool NaiveTable::is_in_the_way(const AcquireRequest& request, Fence fence) const {
    const Lease* lease = find_lease(fence);
    return lease != nullptr && is_on_what_is_asked(*lease, members_of(request));
}

bool NaiveTable::is_waiter_ahead(const AcquireRequest& request, const LeaseView& wanted) const {
    const Members members = members_of(request);
    // The member that is refused: the first one with something in its way.
    const auto blocked = find_blocked(members, waiters_.size());
    if (!blocked) return false;
    const SetMember& refused = members[*blocked];
    if (is_blocked_by_leases(refused)) return false;
    return std::any_of(waiters_.begin(), waiters_.end(), [&](const Waiter& waiter) {
        const auto is_it = [&](const SetMember& member) {
            return member.scope == wanted.scope && is_behind(refused, member);
        };
        return waiter.request.owner == wanted.owner && waiter.since == wanted.acquired_at &&
               std::any_of(waiter.members.begin(), waiter.members.end(), is_it);
    });
}

// Whether the lease holds one of these scopes, or a part of it. It need not exclude the request: an
// exclusive waiter between two shared ones waits for it.
bool NaiveTable::is_on_what_is_asked(const Lease& lease, const Members& members) {
    return std::any_of(members.begin(), members.end(), [&](const SetMember& wanted) {
        return std::any_of(lease.members.begin(), lease.members.end(), [&](const SetMember& held) {
            return is_overlapping(held.scope, wanted.scope);
        });
    });
}

// Whether the lease is in the way of one of the members.
bool NaiveTable::is_in_the_way(const Lease& lease, const Members& members) {
    return std::any_of(members.begin(), members.end(), [&](const SetMember& wanted) {
        return std::any_of(lease.members.begin(), lease.members.end(), [&](const SetMember& held) {
            if (wanted.scope.kind == ScopeKind::semaphore) {
                return is_same_lock(held.scope, wanted.scope);
            }
            return is_excluding(held.scope, held.mode, wanted.scope, wanted.mode);
        });
    });
}

bool NaiveTable::is_waiting_for_its_blocker(const WaiterView& view) const {
    std::size_t place = 0;
    std::size_t index = 0;
    for (; index < waiters_.size(); ++index) {
        place += count_on(waiters_[index].members, view.scope);
        if (place >= view.position) break;
    }
    if (index == waiters_.size()) return false;
    const Members& members = waiters_[index].members;
    if (!view.is_blocked_by_waiter) {
        const Lease* lease = find_lease(view.blocker_fence);
        return lease != nullptr && lease->view.owner == view.blocker &&
               is_in_the_way(*lease, members);
    }
    const auto end = waiters_.begin() + static_cast<std::ptrdiff_t>(index);
    return std::any_of(waiters_.begin(), end, [&](const Waiter& earlier) {
        return earlier.request.owner == view.blocker &&
               std::any_of(members.begin(), members.end(),
                           [&](const SetMember& later) { return is_behind(later, earlier); });
    });
}

void NaiveTable::tell(EventKind kind, Cause cause, const Lease& lease, const Waiter* waiter,
                      std::string_view previous_owner, bool has_new_terms) {
    const Lock& lock = *find_lock(lease.view.scope);
    Event event{.kind = kind,
                .cause = cause,
                .at = now_,
                .lease = view_of(lease),
                .grace = lease.grace,
                .memory = lease.memory,
                .limit = lock.limit,
                .has_new_terms = has_new_terms,
                .waiter = {},
                .waiting_since = {},
                .previous_owner = previous_owner};
    if (waiter != nullptr) {
        event.waiter = waiter->id;
        event.waiting_since = waiter->since;
    }
    events_.push_back(event);
}

void NaiveTable::tell_of_wait(EventKind kind, Cause cause, const Waiter& waiter) {
    const AcquireRequest& request = waiter.request;
    events_.push_back({.kind = kind,
                       .cause = cause,
                       .at = now_,
                       .lease = {.scope = request.scope,
                                 .owner = request.owner,
                                 .mode = request.mode,
                                 .token = {},
                                 .ttl = request.ttl,
                                 .session = request.session,
                                 .notes = request.notes,
                                 .members = waiter.text},
                       .grace = request.grace,
                       .memory = request.memory,
                       .limit = find_lock(request.scope)->limit,
                       .waiter = waiter.id,
                       .waiting_since = waiter.since,
                       .previous_owner = {}});
}

void NaiveTable::tell_of_deadlock(const AcquireRequest& request) {
    Event event{.kind = EventKind::deadlock, .at = now_};
    event.lease.owner = request.owner;
    event.lease.scope = request.scope;
    events_.push_back(event);
}

void NaiveTable::tell_of_session(EventKind kind, const Session& session) {
    Event event{.kind = kind, .at = now_};
    event.lease.owner = session.owner;
    event.lease.session = session.id;
    events_.push_back(event);
}

}  // namespace holdfast::model
