// What the model shows of itself.

#include <algorithm>

#include "model/naive_conflict.h"
#include "model/naive_table.h"

namespace holdfast::model {

using namespace core;

NaiveTable::Lease* NaiveTable::find_lease(Fence fence) {
    for (Lease& lease : leases_) {
        if (lease.view.token.fence == fence && lease.view.state == LeaseState::held) return &lease;
    }
    return nullptr;
}

const NaiveTable::Lease* NaiveTable::find_lease(Fence fence) const {
    return const_cast<NaiveTable*>(this)->find_lease(fence);
}

// The number of permits of a lock that exists, idle or not.
std::optional<std::uint32_t> NaiveTable::limit_of(const Scope& scope) const {
    for (const Lease& lease : leases_) {
        if (is_same_lock(lease.view.scope, scope)) return lease.limit;
    }
    for (const Waiter& waiter : waiters_) {
        if (is_same_lock(waiter.request.scope, scope)) return waiter.request.limit;
    }
    for (const Idle& idle : idle_) {
        if (is_same_lock(idle.scope, scope)) return idle.limit;
    }
    return std::nullopt;
}

std::size_t NaiveTable::count_waiters(const Scope& scope) const {
    return static_cast<std::size_t>(std::count_if(
        waiters_.begin(), waiters_.end(),
        [&](const Waiter& waiter) { return is_same_lock(waiter.request.scope, scope); }));
}

std::optional<LockView> NaiveTable::inspect(const Scope& scope) const {
    const auto limit = limit_of(scope);
    if (!limit) return std::nullopt;
    const bool is_of_inode = scope.kind == ScopeKind::inode || scope.kind == ScopeKind::range;
    LockView seen;
    seen.scope = is_of_inode ? Scope{.kind = ScopeKind::inode, .inode = scope.inode} : scope;
    seen.limit = *limit;
    for (const Lease& lease : leases_) {
        if (!is_same_lock(lease.view.scope, scope)) continue;
        if (lease.is_in_force()) {
            seen.holders.push_back(lease.view);
        } else {
            seen.lapsed = lease.view;
        }
    }
    for (const Waiter& waiter : waiters_) {
        if (!is_same_lock(waiter.request.scope, scope)) continue;
        seen.waiters.push_back({.id = {.serial = waiter.number},
                                .scope = waiter.request.scope,
                                .owner = waiter.request.owner,
                                .mode = waiter.request.mode,
                                .since = waiter.since,
                                .deadline = waiter.deadline,
                                .notes = waiter.request.notes,
                                .session = waiter.request.session,
                                .position = seen.waiters.size() + 1});
    }
    seen.waiter_count = seen.waiters.size();
    for (const Idle& idle : idle_) {
        if (is_same_lock(idle.scope, scope)) seen.idle_since = idle.since;
    }
    return seen;
}

std::vector<LockView> NaiveTable::list() const {
    std::vector<Scope> scopes;
    for (const Lease& lease : leases_) scopes.push_back(lease.view.scope);
    for (const Waiter& waiter : waiters_) scopes.push_back(waiter.request.scope);
    for (const Idle& idle : idle_) scopes.push_back(idle.scope);
    std::vector<LockView> seen;
    for (const Scope& scope : scopes) {
        const bool is_there = std::any_of(seen.begin(), seen.end(), [&](const LockView& lock) {
            return is_same_lock(lock.scope, scope);
        });
        if (!is_there) seen.push_back(*inspect(scope));
    }
    return seen;
}

TableCounts NaiveTable::counts() const {
    TableCounts counts{
        .idle = idle_.size(), .waiters = waiters_.size(), .sessions = sessions_.size()};
    counts.locks = list().size();
    for (const Lease& lease : leases_) {
        if (lease.view.state == LeaseState::held) ++counts.leases;
    }
    return counts;
}

bool NaiveTable::is_in_the_way(const AcquireRequest& request, Fence fence) const {
    // Everybody the request is behind, then everybody those are behind, and so on.
    std::vector<AcquireRequest> behind{request};
    const auto is_rival = [](const Scope& a, Mode a_mode, const Scope& b, Mode b_mode) {
        if (a.kind == ScopeKind::semaphore) return is_same_lock(a, b);
        return is_excluding(a, a_mode, b, b_mode);
    };
    for (std::size_t index = waiters_.size(); index-- > 0;) {
        const AcquireRequest& earlier = waiters_[index].request;
        const bool is_ahead =
            std::any_of(behind.begin(), behind.end(), [&](const AcquireRequest& one) {
                return is_rival(one.scope, one.mode, earlier.scope, earlier.mode);
            });
        if (is_ahead) behind.push_back(earlier);
    }
    for (const Lease& lease : leases_) {
        if (lease.view.token.fence != fence || !lease.is_in_force()) continue;
        return std::any_of(behind.begin(), behind.end(), [&](const AcquireRequest& one) {
            return is_rival(one.scope, one.mode, lease.view.scope, lease.view.mode);
        });
    }
    return false;
}

bool NaiveTable::is_waiting_for_its_blocker(const WaiterView& view) const {
    const bool is_semaphore = view.scope.kind == ScopeKind::semaphore;
    const bool is_of_inode =
        view.scope.kind == ScopeKind::inode || view.scope.kind == ScopeKind::range;
    if (!view.is_blocked_by_waiter) {
        return std::any_of(leases_.begin(), leases_.end(), [&](const Lease& lease) {
            return lease.view.token.fence == view.blocker_fence && lease.is_in_force() &&
                   lease.view.owner == view.blocker &&
                   (is_semaphore
                        ? is_same_lock(lease.view.scope, view.scope)
                        : is_excluding(lease.view.scope, lease.view.mode, view.scope, view.mode));
        });
    }
    std::size_t position = 0;
    for (const Waiter& waiter : waiters_) {
        if (!is_same_lock(waiter.request.scope, view.scope)) continue;
        if (++position >= view.position) return false;
        if (waiter.request.owner != view.blocker) continue;
        // In a single line everybody is behind the one directly ahead, even a reader behind a
        // reader.
        const bool is_directly_ahead = !is_of_inode && position + 1 == view.position;
        if (is_directly_ahead ||
            is_excluding(waiter.request.scope, waiter.request.mode, view.scope, view.mode)) {
            return true;
        }
    }
    return false;
}

void NaiveTable::emit(EventKind kind, Cause cause, const Lease& lease, const Waiter* waited,
                      std::string_view previous_owner) {
    Event event{.kind = kind, .cause = cause, .at = now_, .lease = lease.view};
    event.grace = lease.grace;
    event.memory = lease.memory;
    event.limit = lease.limit;
    event.previous_owner = previous_owner;
    if (waited != nullptr) {
        event.waiter = {.serial = waited->number};
        event.waiting_since = waited->since;
    }
    events_.push_back(event);
}

void NaiveTable::emit(EventKind kind, Cause cause, const Waiter& waiter) {
    Event event{.kind = kind, .cause = cause, .at = now_};
    event.lease.scope = waiter.request.scope;
    event.lease.owner = waiter.request.owner;
    event.lease.mode = waiter.request.mode;
    event.lease.ttl = waiter.request.ttl;
    event.lease.session = waiter.request.session;
    event.lease.notes = waiter.request.notes;
    event.grace = waiter.request.grace;
    event.memory = waiter.request.memory;
    event.limit = waiter.request.limit;
    event.waiter = {.serial = waiter.number};
    event.waiting_since = waiter.since;
    events_.push_back(event);
}

void NaiveTable::emit(EventKind kind, const Session& session) {
    Event event{.kind = kind, .at = now_};
    event.lease.owner = session.owner;
    event.lease.session = {.serial = session.number};
    events_.push_back(event);
}

}  // namespace holdfast::model
