// The requests, one after the other.

#include "model/naive_table.h"

#include <algorithm>

#include "model/naive_conflict.h"

namespace holdfast::model {

using namespace core;

Outcome NaiveTable::acquire(Time now, const AcquireRequest& request) {
    advance(now);
    return admit(request);
}

Outcome NaiveTable::enqueue(Time now, const AcquireRequest& request) {
    advance(now);
    if (!has_session(request.session)) return Outcome::refuse(Refusal::unknown_session);
    if (find_entry(request.session, request.scope) != nullptr) {
        return Outcome::refuse(Refusal::already_enqueued);
    }
    AcquireRequest patient = request;
    patient.wait = wait_forever;
    const Outcome outcome = admit(patient);
    if (outcome.kind != Outcome::Kind::refused) {
        entries_.push_back({.session = request.session,
                            .scope = request.scope,
                            .waiter = outcome.waiter.serial,
                            .fence = outcome.lease.token.fence});
    }
    return outcome;
}

Outcome NaiveTable::wait(Time now, SessionId session, const Scope& scope, Duration timeout) {
    advance(now);
    if (!has_session(session)) return Outcome::refuse(Refusal::unknown_session);
    const Entry* found = find_entry(session, scope);
    if (found == nullptr) return Outcome::refuse(Refusal::not_enqueued);
    const Entry entry = *found;
    entries_.erase(entries_.begin() + (found - entries_.data()));

    if (entry.waiter == 0) {
        Lease* lease = find_lease(entry.fence);
        if (lease == nullptr) return Outcome::refuse(Refusal::lease_ended);
        restart(*lease, later(now_, lease->view.ttl),
                {lease->view.ttl, lease->grace, lease->memory});
        return {.kind = Outcome::Kind::granted, .lease = lease->view};
    }
    if (timeout <= Duration::zero()) {
        remove_waiter(entry.waiter, EventKind::wait_timed_out, Cause::request);
        grant_all_that_are_free();
        return Outcome::refuse(Refusal::timed_out);
    }
    std::size_t position = 0;
    for (Waiter& waiter : waiters_) {
        if (is_same_lock(waiter.request.scope, scope)) ++position;
        if (waiter.number != entry.waiter) continue;
        waiter.deadline = later(now_, timeout);
        break;
    }
    return {
        .kind = Outcome::Kind::queued, .waiter = {.serial = entry.waiter}, .position = position};
}

Refusal NaiveTable::find_fault(const AcquireRequest& request) const {
    const Limits& limits = options_.limits;
    const Scope& scope = request.scope;
    const bool is_of_inode = scope.kind == ScopeKind::inode || scope.kind == ScopeKind::range;
    if (is_of_inode && scope.range.start >= scope.range.end) return Refusal::empty_range;
    if (!is_of_inode && scope.name.empty()) return Refusal::empty_key;
    if (scope.name.size() > limits.key_length_max) return Refusal::key_length_max;
    if (request.owner.name.size() > limits.owner_length_max) return Refusal::owner_length_max;
    const Notes& notes = request.notes;
    if (notes.request_id.size() > limits.request_id_length_max) {
        return Refusal::request_id_length_max;
    }
    if (notes.metadata.size() > limits.metadata_length_max) return Refusal::metadata_length_max;
    if (request.ttl < limits.ttl_min) return Refusal::ttl_out_of_range;
    if (request.ttl > limits.ttl_max) return Refusal::ttl_out_of_range;
    if (scope.kind == ScopeKind::semaphore) {
        if (request.limit == 0 || request.limit > limits.permits_max) return Refusal::permits_max;
    }
    if (request.session && !has_session(request.session)) return Refusal::unknown_session;
    return Refusal::none;
}

Outcome NaiveTable::admit(const AcquireRequest& asked) {
    const Refusal fault = find_fault(asked);
    if (fault != Refusal::none) return Outcome::refuse(fault);

    AcquireRequest request = asked;
    if (request.scope.kind == ScopeKind::semaphore) {
        request.mode = Mode::exclusive;
    } else {
        request.limit = 1;
    }
    const auto limit = limit_of(request.scope);
    if (!limit && !make_room_for_a_lock()) return Outcome::refuse(Refusal::locks_max);
    if (limit && *limit != request.limit) return Outcome::refuse(Refusal::limit_mismatch);
    if (const auto outcome = take_own(request)) return *outcome;

    if (is_free(request, queued_ + 1)) return grant(request, nullptr);
    if (request.wait > Duration::zero()) return join_queue(request);
    Outcome outcome = Outcome::refuse(Refusal::held);
    outcome.queue_length = count_waiters(request.scope);
    return outcome;
}

// The owner itself: takes back what is kept for it, or renews what it holds, if it wants that.
std::optional<Outcome> NaiveTable::take_own(const AcquireRequest& request) {
    for (Lease& lease : leases_) {
        if (lease.view.owner != request.owner || lease.view.scope != request.scope ||
            lease.view.mode != request.mode) {
            continue;
        }
        if (lease.view.state == LeaseState::grace) {
            emit(EventKind::grace_ended, Cause::request, lease, nullptr);
            start(lease, request);
            emit(EventKind::granted, Cause::request, lease, nullptr, request.owner.name);
            return Outcome{.kind = Outcome::Kind::granted,
                           .lease = lease.view,
                           .previous_owner = request.owner.name};
        }
        if (lease.view.state == LeaseState::held && request.renew_own) {
            restart(lease, later(now_, request.ttl), {request.ttl, request.grace, request.memory});
            return Outcome{.kind = Outcome::Kind::renewed, .lease = lease.view};
        }
    }
    return std::nullopt;
}

Outcome NaiveTable::join_queue(const AcquireRequest& request) {
    if (waiters_.size() >= options_.limits.waiters_max) {
        return Outcome::refuse(Refusal::waiters_max);
    }
    const std::size_t before = count_waiters(request.scope);
    if (before >= options_.limits.waiters_per_lock_max) {
        return Outcome::refuse(Refusal::waiters_per_lock_max);
    }
    waiters_.push_back({.number = ++queued_,
                        .request = request,
                        .since = now_,
                        .deadline = later(now_, request.wait)});
    emit(EventKind::queued, Cause::request, waiters_.back());
    return {.kind = Outcome::Kind::queued, .waiter = {.serial = queued_}, .position = before + 1};
}

bool NaiveTable::cancel(Time now, WaiterId id) {
    advance(now);
    const bool is_there = std::any_of(waiters_.begin(), waiters_.end(), [&](const Waiter& waiter) {
        return waiter.number == id.serial;
    });
    if (!is_there) return false;
    remove_waiter(id.serial, EventKind::wait_cancelled, Cause::request);
    grant_all_that_are_free();
    return true;
}

Outcome NaiveTable::find(Token token) const {
    return find_held(token, {}, {});
}

Outcome NaiveTable::find_held(Token token, const std::optional<Scope>& scope,
                              const std::optional<Owner>& owner) const {
    const auto number = static_cast<std::uint64_t>(token.fence);
    if (number == 0 || number >= next_fence()) return Outcome::refuse(Refusal::unknown_lease);
    const Lease* lease = find_lease(token.fence);
    if (lease == nullptr) return Outcome::refuse(Refusal::lease_ended);
    if (lease->view.token.secret != token.secret) return Outcome::refuse(Refusal::unknown_lease);
    if (scope && lease->view.scope != *scope) return Outcome::refuse(Refusal::unknown_lease);
    if (owner && lease->view.owner != *owner) return Outcome::refuse(Refusal::unknown_lease);
    return {.kind = Outcome::Kind::renewed, .lease = lease->view};
}

Outcome NaiveTable::renew(Time now, const RenewRequest& request) {
    advance(now);
    const Outcome found = find_held(request.token, request.scope, request.owner);
    if (found.kind == Outcome::Kind::refused) return found;
    Lease& lease = *find_lease(request.token.fence);
    const Duration ttl = request.ttl ? *request.ttl : lease.view.ttl;
    if (ttl < options_.limits.ttl_min || ttl > options_.limits.ttl_max) {
        return Outcome::refuse(Refusal::ttl_out_of_range);
    }
    Time expires_at = later(now_, ttl);
    Duration kept_ttl = ttl;
    if (request.never_shorten) {
        if (expires_at < lease.view.expires_at) expires_at = lease.view.expires_at;
        if (kept_ttl < lease.view.ttl) kept_ttl = lease.view.ttl;
    }
    restart(lease, expires_at, {kept_ttl, lease.grace, lease.memory});
    return {.kind = Outcome::Kind::renewed, .lease = lease.view};
}

Outcome NaiveTable::release(Time now, const ReleaseRequest& request) {
    advance(now);
    const Outcome found = find_held(request.token, request.scope, request.owner);
    if (found.kind == Outcome::Kind::refused) return found;
    end_lease(request.token.fence, Cause::request);
    grant_all_that_are_free();
    return {.kind = Outcome::Kind::released};
}

Outcome NaiveTable::release_own(Time now, const Scope& scope, const Owner& owner) {
    advance(now);
    for (const bool is_in_force : {true, false}) {  // only then what is merely remembered
        for (const Lease& lease : leases_) {
            if (lease.view.scope != scope || lease.view.owner != owner) continue;
            if (lease.is_in_force() != is_in_force) continue;
            end_lease(lease.view.token.fence, Cause::request);
            grant_all_that_are_free();
            return {.kind = Outcome::Kind::released};
        }
    }
    return Outcome::refuse(Refusal::unknown_lease);
}

std::size_t NaiveTable::force_release(Time now, const Scope& scope) {
    advance(now);
    std::vector<Fence> fences;
    for (const Lease& lease : leases_) {
        if (lease.is_in_force() && is_overlapping(lease.view.scope, scope)) {
            fences.push_back(lease.view.token.fence);
        }
    }
    for (const Fence fence : fences) end_lease(fence, Cause::force);
    grant_all_that_are_free();
    return fences.size();
}

SessionId NaiveTable::open_session(Time now, const Owner& owner) {
    advance(now);
    sessions_.push_back({.number = ++opened_, .owner = owner});
    emit(EventKind::session_opened, sessions_.back());
    return {.serial = opened_};
}

bool NaiveTable::end_session(Time now, SessionId id, bool keeps_leases) {
    advance(now);
    if (!has_session(id)) return false;
    for (std::size_t index = waiters_.size(); index-- > 0;) {
        if (waiters_[index].request.session != id) continue;
        remove_waiter(waiters_[index].number, EventKind::wait_cancelled, Cause::session_end);
    }
    std::erase_if(entries_, [&](const Entry& entry) { return entry.session == id; });
    std::vector<Fence> fences;
    for (Lease& lease : leases_) {
        if (lease.view.session != id) continue;
        if (keeps_leases) lease.view.session = {};
        if (!keeps_leases) fences.push_back(lease.view.token.fence);
    }
    for (const Fence fence : fences) end_lease(fence, Cause::session_end);
    grant_all_that_are_free();
    for (std::size_t index = 0; index < sessions_.size(); ++index) {
        if (sessions_[index].number != id.serial) continue;
        emit(EventKind::session_ended, sessions_[index]);
        sessions_.erase(sessions_.begin() + static_cast<std::ptrdiff_t>(index));
        break;
    }
    return true;
}

bool NaiveTable::has_session(SessionId id) const {
    return std::any_of(sessions_.begin(), sessions_.end(),
                       [&](const Session& session) { return session.number == id.serial; });
}

NaiveTable::Entry* NaiveTable::find_entry(SessionId session, const Scope& scope) {
    for (Entry& entry : entries_) {
        if (entry.session == session && entry.scope == scope) return &entry;
    }
    return nullptr;
}

// One more lock must fit. The one that has been idle for longest makes room if need be.
bool NaiveTable::make_room_for_a_lock() {
    if (counts().locks < options_.limits.locks_max) return true;
    if (idle_.empty()) return false;
    std::size_t victim = 0;
    for (std::size_t index = 0; index < idle_.size(); ++index) {
        const bool is_as_old = idle_[index].since == idle_.front().since;
        if (is_as_old && witness_.has_lock && !witness_.has_lock(idle_[index].scope)) {
            victim = index;
        }
    }
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(victim));
    return true;
}

}  // namespace holdfast::model
