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

// The lock of the request; a new one if there is none.
NaiveTable::Lock& NaiveTable::need_lock(const AcquireRequest& request) {
    if (Lock* lock = find_lock(request.scope)) return *lock;
    const Scope& scope = request.scope;
    const bool is_inode = scope.kind == ScopeKind::inode || scope.kind == ScopeKind::range;
    locks_.push_back({.scope = is_inode ? Scope::of_inode(scope.inode) : scope,
                      .limit = scope.kind == ScopeKind::semaphore ? request.limit : 1});
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
        return is_same_lock(lease.view.scope, lock.scope);
    });
    return is_held || count_waiters(lock.scope) > 0 || lock.last_owner.has_value();
}

std::size_t NaiveTable::count_waiters(const Scope& scope) const {
    return static_cast<std::size_t>(std::count_if(
        waiters_.begin(), waiters_.end(),
        [&](const Waiter& waiter) { return is_same_lock(waiter.request.scope, scope); }));
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
        if (is_same_lock(lease.view.scope, lock.scope)) view.holders.push_back(view_of(lease));
    }
    view.holder_count = view.holders.size();
    for (const Waiter& waiter : waiters_) {
        const AcquireRequest& request = waiter.request;
        if (!is_same_lock(request.scope, lock.scope)) continue;
        view.waiters.push_back({.id = waiter.id,
                                .scope = request.scope,
                                .owner = request.owner,
                                .mode = request.mode,
                                .since = waiter.since,
                                .deadline = waiter.deadline,
                                .notes = request.notes,
                                .session = request.session,
                                .position = view.waiters.size() + 1,
                                .blocker = {}});
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
    if (lease == nullptr || !is_same_lock(lease->view.scope, request.scope)) return false;
    const auto is_in_way_of = [lease](const AcquireRequest& other) {
        if (other.scope.kind == ScopeKind::semaphore) return true;
        return is_excluding(lease->view.scope, lease->view.mode, other.scope, other.mode);
    };
    if (is_in_way_of(request)) return true;
    // Through earlier waiters, the last one first: a waiter can only wait for an earlier one.
    std::vector<AcquireRequest> held_up{request};
    for (std::size_t index = waiters_.size(); index-- > 0;) {
        const bool is_ahead = std::any_of(
            held_up.begin(), held_up.end(),
            [&](const AcquireRequest& later) { return is_behind(later, waiters_[index]); });
        if (!is_ahead) continue;
        if (is_in_way_of(waiters_[index].request)) return true;
        held_up.push_back(waiters_[index].request);
    }
    return false;
}

bool NaiveTable::is_waiting_for_its_blocker(const WaiterView& view) const {
    const AcquireRequest request{.scope = view.scope, .owner = view.owner, .mode = view.mode};
    if (!view.is_blocked_by_waiter) {
        const Lease* lease = find_lease(view.blocker_fence);
        if (lease == nullptr || lease->view.owner != view.blocker) return false;
        if (view.scope.kind == ScopeKind::semaphore) {
            return is_same_lock(lease->view.scope, view.scope);
        }
        return is_excluding(lease->view.scope, lease->view.mode, view.scope, view.mode);
    }
    std::size_t place = 0;
    for (const Waiter& waiter : waiters_) {
        if (!is_same_lock(waiter.request.scope, view.scope)) continue;
        if (++place == view.position) return false;
        if (waiter.request.owner == view.blocker && is_behind(request, waiter)) return true;
    }
    return false;
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
                                 .notes = request.notes},
                       .grace = request.grace,
                       .memory = request.memory,
                       .limit = find_lock(request.scope)->limit,
                       .waiter = waiter.id,
                       .waiting_since = waiter.since,
                       .previous_owner = {}});
}

void NaiveTable::tell_of_session(EventKind kind, const Session& session) {
    Event event{.kind = kind, .at = now_};
    event.lease.owner = session.owner;
    event.lease.session = session.id;
    events_.push_back(event);
}

}  // namespace holdfast::model
