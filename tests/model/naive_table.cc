#include "model/naive_table.h"

#include <algorithm>

#include "model/naive_conflict.h"

// The requests. Rules are named as in rules.md.

namespace holdfast::model {

using namespace core;

NaiveTable::NaiveTable(const TableOptions& options)
    : options_(options), next_fence_(options.first_fence) {}

namespace {

// Rule C5: a permit has no mode.
AcquireRequest without_mode_of_permit(AcquireRequest request) {
    if (request.scope.kind == ScopeKind::semaphore) request.mode = Mode::exclusive;
    return request;
}

}  // namespace

Outcome NaiveTable::acquire(Time now, const AcquireRequest& request) {
    begin(now);
    return done(ask(without_mode_of_permit(request), false));
}

Outcome NaiveTable::enqueue(Time now, const AcquireRequest& request) {
    begin(now);
    return done(ask(without_mode_of_permit(request), true));
}

// Grants the waiters that can be granted, and returns the outcome.
Outcome NaiveTable::done(const Outcome& outcome) {
    finish();
    return outcome;
}

// The scopes of a request, as they are kept: C5.
NaiveTable::Members NaiveTable::members_of(const AcquireRequest& request) {
    Members members(request.members.begin(), request.members.end());
    if (members.size() < 2) {
        members = {{.scope = request.scope, .mode = request.mode, .limit = request.limit}};
    }
    for (SetMember& member : members) {
        if (member.scope.kind == ScopeKind::semaphore) {
            member.mode = Mode::exclusive;
        } else {
            member.limit = 1;
        }
    }
    return members;
}

// The members of a set as text; empty for a single scope.
std::string_view NaiveTable::text_of(const Members& members) {
    if (members.size() < 2) return {};
    return texts_.emplace_back(set_to_text(members));
}

// The scope that rule C8 keeps apart from this one; for most kinds there is none, and it is this
// one.
Scope NaiveTable::other_kind(Scope scope) {
    if (scope.kind == ScopeKind::named) return Scope::semaphore(scope.name);
    if (scope.kind == ScopeKind::semaphore) return Scope::named(scope.name);
    return scope;
}

// Whether somebody holds or wants exactly this lock.
bool NaiveTable::is_used(const Scope& scope) const {
    return std::any_of(leases_.begin(), leases_.end(),
                       [&](const Lease& lease) { return is_on(lease.members, scope); }) ||
           std::any_of(waiters_.begin(), waiters_.end(),
                       [&](const Waiter& waiter) { return is_on(waiter.members, scope); });
}

Outcome NaiveTable::ask(const AcquireRequest& request, bool is_two_phase) {
    if (is_two_phase) {
        if (!has_session(request.session)) return Outcome::refuse(Refusal::unknown_session);  // S4
        const Entry* entry = find_entry(request.session, request.scope);
        if (entry != nullptr && entry->state != Entry::State::expired) {
            return Outcome::refuse(Refusal::already_enqueued);  // P2
        }
    }
    if (request.members.size() > 1) {
        const Outcome flaw = find_flaw_of_set(request);
        if (flaw.refusal != Refusal::none) return flaw;
    }
    if (const Refusal flaw = find_flaw(request); flaw != Refusal::none) {
        return Outcome::refuse(flaw);
    }
    if (request.session && !has_session(request.session)) {
        return Outcome::refuse(Refusal::unknown_session);  // S4
    }
    forget_idle_of_others(request);
    const Members members = members_of(request);
    for (std::size_t index = 0; index < members.size(); ++index) {
        const SetMember& member = members[index];
        if (request.is_only_kind && !is_used(member.scope) && is_used(other_kind(member.scope))) {
            return Outcome::refuse(Refusal::other_kind, index);  // C8
        }
        const Lock* lock = find_lock(member.scope);
        if (member.scope.kind == ScopeKind::semaphore && lock != nullptr &&
            lock->limit != member.limit) {
            return Outcome::refuse(Refusal::limit_mismatch, index);  // C6
        }
    }
    std::optional<Outcome> outcome = come_back(request, is_two_phase);
    if (!outcome) {
        if (find_blocked(members, waiters_.size())) return join_queue(request, is_two_phase);
        if (is_full(members.size())) return Outcome::refuse(Refusal::leases_max);  // N4
        if (request.ttl == endless && has_endless_in_full()) {
            return Outcome::refuse(Refusal::endless_leases_max);  // N7
        }
        if (is_door_full(request)) return Outcome::refuse(Refusal::locks_max);    // N8
        if (!make_room_for(members)) return Outcome::refuse(Refusal::locks_max);  // N2
        outcome = grant(request, members, nullptr);                               // Q1
    }
    if (is_two_phase && outcome->kind != Outcome::Kind::refused) {
        add_entry(request, {.state = Entry::State::granted, .fence = outcome->lease.token.fence});
    }
    return *outcome;
}

// Rules P1 and P7: a new entry replaces an expired one.
void NaiveTable::add_entry(const AcquireRequest& request, Entry entry) {
    std::erase_if(entries_, [&](const Entry& other) {
        return other.session == request.session && other.scope == request.scope;
    });
    entry.session = request.session;
    entry.scope = request.scope;
    entry.ttl = request.ttl;
    entries_.push_back(entry);
}

// The owner of a lease asks again: R1, G3, G4. No value if it has no lease here.
std::optional<Outcome> NaiveTable::come_back(const AcquireRequest& request, bool is_two_phase) {
    const bool may_renew = request.renew_own && !is_two_phase;  // P1
    const Members members = members_of(request);
    Lease* own = nullptr;
    for (Lease& lease : leases_) {
        Members held = lease.members;
        if (held.size() == 1) held[0].limit = members[0].limit;
        const bool is_own = lease.view.owner == request.owner && held == members;  // M5
        const bool is_kept = lease.view.state == LeaseState::grace;
        if (!is_own || !(is_kept || may_renew)) continue;
        if (own == nullptr || witness_.is_chosen(lease.view.token.fence)) own = &lease;  // R2
    }
    if (own == nullptr) return std::nullopt;
    if (request.ttl == endless && own->view.ttl != endless && has_endless_in_full()) {
        return Outcome::refuse(Refusal::endless_leases_max);  // N7
    }
    if (own->view.state == LeaseState::held) {
        restart(*own,
                {.ttl = request.ttl,
                 .grace = request.grace,
                 .memory = request.memory,
                 // L11
                 .is_transient = request.is_transient && own->view.is_transient},
                add_saturating(now_, request.ttl));
        return Outcome{.kind = Outcome::Kind::renewed, .lease = view_of(*own)};
    }
    end_lease(*own, EventKind::grace_ended, Cause::request);
    for (const SetMember& member : members) {
        --need_lock(member).version;  // V1: this end and the grant count as one
    }
    need_lock(members.front()).last_owner = *own;  // G7
    remove_ended_leases();
    return grant(request, members, nullptr);
}

Outcome NaiveTable::join_queue(const AcquireRequest& request, bool is_two_phase) {
    const Members members = members_of(request);
    const std::size_t blocked = *find_blocked(members, waiters_.size());
    if (!is_two_phase && request.wait <= Duration::zero()) {
        Outcome outcome = Outcome::refuse(Refusal::held, blocked);  // Q3
        outcome.queue_length = count_waiters(members[blocked].scope);
        outcome.is_queue_full =
            members.size() == 1 && is_queue_full(request.scope, request.owner.door);
        return outcome;
    }
    if (is_full(members.size())) return Outcome::refuse(Refusal::leases_max);
    if (request.ttl == endless && has_endless_in_full()) {
        return Outcome::refuse(Refusal::endless_leases_max);  // N7
    }
    if (is_door_full(request)) return Outcome::refuse(Refusal::locks_max);  // N8
    if (count_waiters() + members.size() > options_.limits.waiters_max) {
        return Outcome::refuse(Refusal::waiters_max);  // N3
    }
    for (std::size_t index = 0; index < members.size(); ++index) {
        if (count_waiters(members[index].scope) >= options_.limits.waiters_per_lock_max) {
            return Outcome::refuse(Refusal::waiters_per_lock_max, index);
        }
    }
    if (members.size() == 1 && is_queue_full(request.scope, request.owner.door)) {
        return Outcome::refuse(Refusal::waiters_per_lock_max);  // N8
    }
    // The places in all queues; that in the longest one is told: M3.
    std::size_t position = 0;
    for (std::size_t index = 0; index < members.size(); ++index) {
        if (!find_blocked({members[index]}, waiters_.size())) continue;
        const Members earlier(members.begin(),
                              members.begin() + static_cast<std::ptrdiff_t>(index));
        const Scope& scope = members[index].scope;
        position = std::max(position, count_waiters(scope) + count_on(earlier, scope) + 1);
    }
    // A set needs a place also on locks that nobody uses: M2.
    const bool is_deadlock = closes_cycle(request, members);
    const bool is_refused = is_deadlock && request.on_deadlock == OnDeadlock::refuse;
    if (members.size() > 1 && !has_room_for(members)) return Outcome::refuse(Refusal::locks_max);
    if (is_refused) {
        tell_of_deadlock(request);
        return Outcome::refuse(Refusal::deadlock);  // D4
    }
    make_room_for(members);
    for (const SetMember& member : members) need_lock(member);
    const WaiterId id{.serial = ++waiters_so_far_};
    const bool is_endless = is_two_phase || request.wait == wait_forever;
    waiters_.push_back({.id = id,
                        .request = request,
                        .members = members,
                        .text = text_of(members),
                        .since = now_,
                        .deadline = is_endless ? Time::max() : add_saturating(now_, request.wait)});
    waiters_.back().request.members = {};
    if (is_two_phase) add_entry(request, {.state = Entry::State::queued, .waiter = id});
    tell_of_wait(EventKind::queued, Cause::request, waiters_.back());
    if (is_deadlock) tell_of_deadlock(request);  // D3
    return {.kind = Outcome::Kind::queued, .waiter = id, .position = position};
}

Outcome NaiveTable::wait(Time now, SessionId session, const Scope& scope, Duration timeout) {
    begin(now);
    if (!has_session(session)) return Outcome::refuse(Refusal::unknown_session);  // S4
    Entry* entry = find_entry(session, scope);
    if (entry == nullptr) return Outcome::refuse(Refusal::not_enqueued);  // P3
    const Entry seen = *entry;
    entries_.erase(entries_.begin() + (entry - entries_.data()));
    if (seen.state == Entry::State::expired) return Outcome::refuse(Refusal::lease_ended);  // P7
    if (seen.state == Entry::State::granted) {
        // P4
        Lease& lease = *find_lease(seen.fence);
        restart(lease,
                {.ttl = seen.ttl,
                 .grace = lease.grace,
                 .memory = lease.memory,
                 .is_transient = lease.view.is_transient},
                add_saturating(now_, seen.ttl));
        return done({.kind = Outcome::Kind::granted, .lease = view_of(lease)});
    }
    // P5
    const auto waiter = std::find_if(waiters_.begin(), waiters_.end(),
                                     [&](const Waiter& other) { return other.id == seen.waiter; });
    if (timeout <= Duration::zero()) {
        end_wait(static_cast<std::size_t>(waiter - waiters_.begin()), EventKind::wait_timed_out,
                 Cause::request);
        return done(Outcome::refuse(Refusal::timed_out));
    }
    waiter->deadline = timeout == wait_forever ? Time::max() : add_saturating(now_, timeout);
    return {.kind = Outcome::Kind::queued, .waiter = seen.waiter};
}

// Why the token cannot be used: L2, L6, L7.
Refusal NaiveTable::judge(Token token, const std::optional<Scope>& scope,
                          const std::optional<Owner>& owner) const {
    const Lease* lease = find_lease(token.fence);
    if (lease == nullptr || lease->view.state != LeaseState::held) {
        const std::uint64_t number = as_number(token.fence);
        const bool was_given_out = number > 0 && number < next_fence_;
        return was_given_out ? Refusal::lease_ended : Refusal::unknown_lease;
    }
    const auto is_scope = [&](const SetMember& member) { return member.scope == *scope; };
    const bool is_right = lease->view.token == token &&
                          (!scope || std::any_of(lease->members.begin(), lease->members.end(),
                                                 is_scope)) &&  // M4
                          (!owner || lease->view.owner == *owner);
    return is_right ? Refusal::none : Refusal::unknown_lease;
}

Outcome NaiveTable::renew(Time now, const RenewRequest& request) {
    begin(now);
    const Refusal refusal = judge(request.token, request.scope, request.owner);
    if (refusal != Refusal::none) return Outcome::refuse(refusal);
    if (request.ttl && !is_good(*request.ttl)) {
        return Outcome::refuse(Refusal::ttl_out_of_range);  // N1
    }
    Lease& lease = *find_lease(request.token.fence);
    Duration ttl = request.ttl.value_or(lease.view.ttl);  // L5
    Time expires_at = add_saturating(now_, ttl);          // L3
    if (ttl == endless && lease.view.ttl != endless && has_endless_in_full()) {
        return Outcome::refuse(Refusal::endless_leases_max);  // N7
    }
    if (request.never_shorten) {
        expires_at = std::max(expires_at, lease.view.expires_at);  // L4
        ttl = std::max(ttl, lease.view.ttl);
    }
    restart(lease,
            {.ttl = ttl,
             .grace = lease.grace,
             .memory = lease.memory,
             .is_transient = lease.view.is_transient},
            expires_at);
    return done({.kind = Outcome::Kind::renewed, .lease = view_of(lease)});
}

// Renews the lease on these terms: L3, L10, G1, V1.
void NaiveTable::restart(Lease& lease, const LeaseTerms& terms, Time expires_at) {
    const LeaseTerms before{.ttl = lease.view.ttl,
                            .grace = lease.grace,
                            .memory = lease.memory,
                            .is_transient = lease.view.is_transient};
    lease.view.ttl = terms.ttl;
    lease.grace = terms.grace;
    lease.memory = terms.memory;
    lease.view.is_transient = terms.is_transient;
    lease.view.expires_at = expires_at;
    lease.view.grace_until = add_saturating(expires_at, terms.grace);
    touch(lease);
    tell(EventKind::renewed, Cause::request, lease, nullptr, {}, terms != before);
}

Outcome NaiveTable::release(Time now, const ReleaseRequest& request) {
    begin(now);
    const Refusal refusal = judge(request.token, request.scope, request.owner);
    if (refusal != Refusal::none) return Outcome::refuse(refusal);
    end_lease(*find_lease(request.token.fence), EventKind::released, Cause::request);
    remove_ended_leases();
    return done({.kind = Outcome::Kind::released});
}

// Rule G8.
Outcome NaiveTable::release_own(Time now, const Scope& scope, const Owner& owner) {
    begin(now);
    Lease* own = nullptr;
    for (Lease& lease : leases_) {
        const auto is_scope = [&](const SetMember& member) { return member.scope == scope; };
        const bool is_there =
            std::any_of(lease.members.begin(), lease.members.end(), is_scope);  // M4
        if (!is_there || lease.view.owner != owner) continue;
        if (own == nullptr || witness_.is_chosen(lease.view.token.fence)) own = &lease;  // R2
    }
    if (own != nullptr) {
        const bool is_held = own->view.state == LeaseState::held;
        end_lease(*own, is_held ? EventKind::released : EventKind::grace_ended, Cause::request);
        remove_ended_leases();
        return done({.kind = Outcome::Kind::released});
    }
    Lock* lock = find_lock(scope);
    const bool is_remembered = lock != nullptr && lock->last_owner &&
                               lock->last_owner->view.owner == owner &&
                               lock->last_owner->view.scope == scope;
    if (!is_remembered) return Outcome::refuse(Refusal::unknown_lease);
    lock->last_owner.reset();
    return done({.kind = Outcome::Kind::released});
}

// Rule L9.
std::size_t NaiveTable::force_release(Time now, const Scope& scope) {
    begin(now);
    std::size_t ended = 0;
    for (Lease& lease : leases_) {
        const auto is_meant = [&](const SetMember& member) {
            return is_overlapping(member.scope, scope);
        };
        if (std::none_of(lease.members.begin(), lease.members.end(), is_meant)) continue;  // M4
        const bool is_held = lease.view.state == LeaseState::held;
        end_lease(lease, is_held ? EventKind::released : EventKind::grace_ended, Cause::force);
        ++ended;
    }
    remove_ended_leases();
    finish();
    return ended;
}

// Rules Q6, P8.
bool NaiveTable::cancel(Time now, WaiterId waiter) {
    begin(now);
    for (std::size_t index = 0; index < waiters_.size(); ++index) {
        if (waiters_[index].id != waiter) continue;
        end_wait(index, EventKind::wait_cancelled, Cause::request);
        finish();
        return true;
    }
    return false;
}

SessionId NaiveTable::open_session(Time now, const Owner& owner) {
    begin(now);
    if (sessions_.size() >= options_.limits.sessions_max) return {};  // N5
    const SessionId id{.serial = ++sessions_so_far_};
    sessions_.push_back({.id = id, .owner = owner, .opened_at = now_});
    tell_of_session(EventKind::session_opened, sessions_.back());
    return id;
}

// Rules S1 to S3.
bool NaiveTable::end_session(Time now, SessionId session, bool keeps_leases) {
    begin(now);
    if (!has_session(session)) return false;
    std::erase_if(entries_, [&](const Entry& entry) { return entry.session == session; });
    for (std::size_t index = waiters_.size(); index-- > 0;) {
        if (waiters_[index].request.session != session) continue;
        end_wait(index, EventKind::wait_cancelled, Cause::session_end);
    }
    for (Lease& lease : leases_) {
        if (lease.view.session != session) continue;
        if (keeps_leases) {
            lease.view.session = {};
        } else {
            end_lease(lease, EventKind::released, Cause::session_end);
        }
    }
    remove_ended_leases();
    const auto ended = std::find_if(sessions_.begin(), sessions_.end(),
                                    [&](const Session& other) { return other.id == session; });
    tell_of_session(EventKind::session_ended, *ended);
    sessions_.erase(ended);
    finish();
    return true;
}

}  // namespace holdfast::model
