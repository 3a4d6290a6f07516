// What ends by itself or by request, and who is next.

#include <algorithm>

#include "model/naive_conflict.h"
#include "model/naive_table.h"

namespace holdfast::model {

using namespace core;

Time later(Time a, Duration b) {
    const Duration left = Time::max() - a;
    return b > left ? Time::max() : a + b;
}

Time NaiveTable::Lease::deadline() const {
    const Time grace_until = later(view.expires_at, grace);
    if (view.state == LeaseState::held) return view.expires_at;
    if (view.state == LeaseState::grace) return grace_until;
    return later(grace_until, memory);
}

void NaiveTable::advance(Time now) {
    if (now > now_) now_ = now;
    time_out_waiters();
    expire_leases();
    std::erase_if(idle_, [&](const Idle& idle) {
        return later(idle.since, options_.idle_retention) <= now_;
    });
}

std::optional<Time> NaiveTable::next_due() const {
    Time next = Time::max();
    for (const Waiter& waiter : waiters_) next = std::min(next, waiter.deadline);
    for (const Lease& lease : leases_) next = std::min(next, lease.deadline());
    for (const Idle& idle : idle_)
        next = std::min(next, later(idle.since, options_.idle_retention));
    if (next == Time::max()) return std::nullopt;
    return next;
}

// All waits whose time has come are over before anybody is granted anything.
void NaiveTable::time_out_waiters() {
    std::vector<std::uint64_t> due;
    for (const Waiter& waiter : waiters_) {
        if (waiter.deadline <= now_) due.push_back(waiter.number);
    }
    for (const std::uint64_t number : due) {
        remove_waiter(number, EventKind::wait_timed_out, Cause::request);
    }
    grant_all_that_are_free();
}

// One after the other, the earliest deadline first, until nothing is due.
void NaiveTable::expire_leases() {
    for (;;) {
        std::optional<std::size_t> next;
        for (std::size_t index = 0; index < leases_.size(); ++index) {
            if (leases_[index].deadline() > now_) continue;
            if (!next || is_ending_before(leases_[index], leases_[*next])) next = index;
        }
        if (!next) return;
        expire(*next);
    }
}

bool NaiveTable::is_ending_before(const Lease& a, const Lease& b) const {
    if (a.deadline() != b.deadline()) return a.deadline() < b.deadline();
    // The end of a memory is no event: it came later if a grant of this call still knew the name.
    const auto rank = [this](const Lease& lease) -> std::size_t {
        if (lease.is_in_force()) {
            const bool is_in_grace = lease.view.state == LeaseState::grace;
            return 1 + witness_.place_of_end({lease.view.token.fence, is_in_grace});
        }
        for (const Witness::Taken& taken : witness_.granted) {
            if (is_same_lock(taken.scope, lease.view.scope) &&
                taken.previous_owner == lease.view.owner.name) {
                return SIZE_MAX;
            }
        }
        return 0;
    };
    return rank(a) < rank(b);
}

void NaiveTable::expire(std::size_t index) {
    Lease& lease = leases_[index];
    const Scope scope = lease.view.scope;
    const std::uint32_t limit = lease.limit;
    const bool is_of_inode = scope.kind == ScopeKind::inode || scope.kind == ScopeKind::range;
    if (lease.view.state == LeaseState::lapsed) {
        forget_lapsed(scope);
        settle(scope, limit);
        return;
    }
    const bool was_held = lease.view.state == LeaseState::held;
    emit(was_held ? EventKind::expired : EventKind::grace_ended, Cause::request, lease, nullptr);
    lease.view.session = {};
    if (was_held && lease.grace > Duration::zero()) {
        lease.view.state = LeaseState::grace;
        return;
    }
    if (lease.memory > Duration::zero() && !is_of_inode) {
        Lease last = lease;
        last.view.state = LeaseState::lapsed;
        leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(index));
        forget_lapsed(scope);
        leases_.push_back(last);
    } else {
        leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    grant_all_that_are_free();
    settle(scope, limit);
}

// Whether nothing stands in the way: no hold, and nobody who came before waiter `number`.
bool NaiveTable::is_free(const AcquireRequest& request, std::uint64_t number) const {
    if (request.scope.kind == ScopeKind::semaphore) {
        std::uint32_t taken = 0;
        for (const Lease& lease : leases_) {
            if (lease.is_in_force() && is_same_lock(lease.view.scope, request.scope)) ++taken;
        }
        for (const Waiter& waiter : waiters_) {
            if (waiter.number < number && is_same_lock(waiter.request.scope, request.scope)) {
                return false;
            }
        }
        return taken < request.limit;
    }
    for (const Lease& lease : leases_) {
        if (lease.is_in_force() &&
            is_excluding(lease.view.scope, lease.view.mode, request.scope, request.mode)) {
            return false;
        }
    }
    for (const Waiter& waiter : waiters_) {
        if (waiter.number < number &&
            is_excluding(waiter.request.scope, waiter.request.mode, request.scope, request.mode)) {
            return false;
        }
    }
    return true;
}

Outcome NaiveTable::grant(const AcquireRequest& request, const Waiter* waited) {
    std::string_view previous_owner;
    for (const Lease& lease : leases_) {
        if (!lease.is_in_force() && is_same_lock(lease.view.scope, request.scope)) {
            previous_owner = lease.view.owner.name;
        }
    }
    forget_lapsed(request.scope);
    std::erase_if(idle_, [&](const Idle& idle) { return is_same_lock(idle.scope, request.scope); });
    leases_.emplace_back();
    Lease& lease = leases_.back();
    lease.view.scope = request.scope;
    lease.view.owner = request.owner;
    lease.view.mode = request.mode;
    lease.limit = request.limit;
    start(lease, request);
    emit(EventKind::granted, Cause::request, lease, waited, previous_owner);
    return {.kind = Outcome::Kind::granted, .lease = lease.view, .previous_owner = previous_owner};
}

void NaiveTable::start(Lease& lease, const AcquireRequest& request) {
    lease.view.token = {.fence = Fence{next_fence()}, .secret = request.secret};
    ++grants_;
    lease.view.state = LeaseState::held;
    lease.view.ttl = request.ttl;
    lease.view.acquired_at = now_;
    lease.view.expires_at = later(now_, request.ttl);
    lease.view.grace_until = later(lease.view.expires_at, request.grace);
    lease.view.session = request.session;
    lease.view.notes = request.notes;
    lease.grace = request.grace;
    lease.memory = request.memory;
}

void NaiveTable::restart(Lease& lease, Time expires_at, const LeaseTerms& terms) {
    const bool has_new_terms =
        lease.view.ttl != terms.ttl || lease.grace != terms.grace || lease.memory != terms.memory;
    lease.view.ttl = terms.ttl;
    lease.grace = terms.grace;
    lease.memory = terms.memory;
    lease.view.expires_at = expires_at;
    lease.view.grace_until = later(expires_at, terms.grace);
    emit(EventKind::renewed, Cause::request, lease, nullptr);
    events_.back().has_new_terms = has_new_terms;
}

// A grant frees nobody else, so who is free does not depend on the order, only the numbers do.
void NaiveTable::grant_all_that_are_free() {
    for (;;) {
        std::optional<std::size_t> next;
        for (std::size_t index = 0; index < waiters_.size(); ++index) {
            if (!is_free(waiters_[index].request, waiters_[index].number)) continue;
            if (!next || witness_.place_of_grant(waiters_[index].number) <
                             witness_.place_of_grant(waiters_[*next].number)) {
                next = index;
            }
        }
        if (!next) return;
        const Waiter waiter = waiters_[*next];
        waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(*next));
        const Outcome outcome = grant(waiter.request, &waiter);
        for (Entry& entry : entries_) {
            if (entry.waiter != waiter.number) continue;
            entry.waiter = 0;
            entry.fence = outcome.lease.token.fence;
        }
    }
}

// Takes a lease away: held, in grace, or only remembered. Who moves up is decided afterwards.
void NaiveTable::end_lease(Fence fence, Cause cause) {
    for (std::size_t index = 0; index < leases_.size(); ++index) {
        const Lease lease = leases_[index];
        if (lease.view.token.fence != fence) continue;
        if (lease.is_in_force()) {
            const bool is_held = lease.view.state == LeaseState::held;
            emit(is_held ? EventKind::released : EventKind::grace_ended, cause, lease, nullptr);
        }
        leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(index));
        settle(lease.view.scope, lease.limit);
        return;
    }
}

void NaiveTable::remove_waiter(std::uint64_t number, EventKind kind, Cause cause) {
    for (std::size_t index = 0; index < waiters_.size(); ++index) {
        if (waiters_[index].number != number) continue;
        emit(kind, cause, waiters_[index]);
        waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(index));
        break;
    }
    std::erase_if(entries_, [&](const Entry& entry) { return entry.waiter == number; });
}

void NaiveTable::forget_lapsed(const Scope& scope) {
    std::erase_if(leases_, [&](const Lease& lease) {
        return !lease.is_in_force() && is_same_lock(lease.view.scope, scope);
    });
}

// A lock with nothing left on it is idle from now on, if idle locks are kept at all.
void NaiveTable::settle(const Scope& scope, std::uint32_t limit) {
    if (limit_of(scope) || options_.idle_retention <= Duration::zero()) return;
    idle_.push_back({.scope = scope, .limit = limit, .since = now_});
}

}  // namespace holdfast::model
