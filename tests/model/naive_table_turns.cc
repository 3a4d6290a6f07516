#include <algorithm>

#include "model/naive_conflict.h"
#include "model/naive_table.h"

// Time passes, leases end, waiters are granted. Rules are named as in rules.md.

namespace holdfast::model {

using namespace core;

// Rules T1 to T4: everything that is due happens before the call.
void NaiveTable::begin(Time now) {
    now_ = std::max(now_, now);
    end_waits_that_are_over();
    serve_queue();
    end_leases_that_are_over();
    forget_what_is_over();
    tidy();
}

// After any change: grants the waiters that can be granted, and drops what nobody uses.
void NaiveTable::finish() {
    serve_queue();
    tidy();
}

void NaiveTable::end_waits_that_are_over() {
    for (std::size_t index = 0; index < waiters_.size();) {
        if (waiters_[index].deadline <= now_) {
            end_wait(index, EventKind::wait_timed_out, Cause::none);
        } else {
            ++index;
        }
    }
}

void NaiveTable::end_leases_that_are_over() {
    const auto due_of = [](const Lease& lease) {
        return lease.view.state == LeaseState::held ? lease.view.expires_at
                                                    : lease.view.grace_until;
    };
    const auto place_of = [this](const Lease& lease) {
        const bool is_in_grace = lease.view.state == LeaseState::grace;
        return witness_.place_of_end({lease.view.token.fence, is_in_grace});
    };
    while (true) {
        Lease* next = nullptr;
        for (Lease& lease : leases_) {
            if (due_of(lease) > now_) continue;
            const bool is_earlier = next == nullptr || due_of(lease) < due_of(*next);
            const bool is_chosen = next != nullptr && due_of(lease) == due_of(*next) &&
                                   place_of(lease) < place_of(*next);  // T6
            if (is_earlier || is_chosen) next = &lease;
        }
        if (next == nullptr) return;
        forget_names_before(due_of(*next));
        expire(*next);
        remove_ended_leases();
        serve_queue();
    }
}

// Rule L1, then G1: the grace begins, or the lease ends.
void NaiveTable::expire(Lease& lease) {
    if (lease.view.state == LeaseState::grace) {
        end_lease(lease, EventKind::grace_ended, Cause::none);
        remember(lease);
        return;
    }
    // P7: the entry stays only to tell that the lease has ended.
    for (Entry& entry : entries_) {
        const bool is_its =
            entry.state == Entry::State::granted && entry.fence == lease.view.token.fence;
        if (is_its) entry.state = Entry::State::expired;
        if (is_its) entry.expired = ++expiries_so_far_;
    }
    forget_expired_entries();
    if (lease.grace > Duration::zero()) {
        tell(EventKind::expired, Cause::none, lease);
        lease.view.state = LeaseState::grace;
        lease.view.session = {};  // S2
        touch(lease);
        return;
    }
    end_lease(lease, EventKind::expired, Cause::none);
    remember(lease);
}

// Rule N6.
void NaiveTable::forget_expired_entries() {
    while (true) {
        std::size_t expired = 0;
        auto oldest = entries_.end();
        for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
            if (entry->state != Entry::State::expired) continue;
            ++expired;
            if (oldest == entries_.end() || entry->expired < oldest->expired) oldest = entry;
        }
        if (expired <= options_.limits.expired_entries_max) return;
        entries_.erase(oldest);
    }
}

// Rule G6.
void NaiveTable::remember(const Lease& lease) {
    const ScopeKind kind = lease.view.scope.kind;
    const bool is_of_inode = kind == ScopeKind::inode || kind == ScopeKind::range;
    if (is_of_inode || lease.memory == Duration::zero() || lease.members.size() > 1) return;  // M6
    Lock& lock = *find_lock(lease.view.scope);
    lock.last_owner = lease;
    lock.last_owner->view.state = LeaseState::lapsed;
    lock.last_owner->view.session = {};  // S2
    lock.remembered_until = add_saturating(lease.view.grace_until, lease.memory);
}

// Ends a lease. After an expiry its entry stays; after any other end it is removed: P6, P9.
void NaiveTable::end_lease(Lease& lease, EventKind kind, Cause cause) {
    std::erase_if(entries_, [&](const Entry& entry) {
        return entry.state == Entry::State::granted && entry.fence == lease.view.token.fence;
    });
    touch(lease);
    for (const SetMember& member : lease.members) {
        find_lock(member.scope)->is_of_idle_door |=
            options_.idle_door == lease.view.owner.door;  // I2
    }
    tell(kind, cause, lease);
    lease.is_ended = true;
}

// Rule V1, for each scope of the lease.
void NaiveTable::touch(const Lease& lease) {
    for (const SetMember& member : lease.members) ++find_lock(member.scope)->version;
}

void NaiveTable::remove_ended_leases() {
    std::erase_if(leases_, [](const Lease& lease) { return lease.is_ended; });
}

void NaiveTable::end_wait(std::size_t index, EventKind kind, Cause cause) {
    const Waiter waiter = waiters_[index];
    waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(index));
    std::erase_if(entries_, [&](const Entry& entry) {
        return entry.state == Entry::State::queued && entry.waiter == waiter.id;
    });
    for (const SetMember& member : waiter.members) {
        find_lock(member.scope)->is_of_idle_door |=
            options_.idle_door == waiter.request.owner.door;  // I2
    }
    tell_of_wait(kind, cause, waiter);
}

// Rule G6. A name that is forgotten at this very moment may be told or not: T6.
void NaiveTable::forget_names_before(Time time) {
    for (Lock& lock : locks_) {
        if (!lock.last_owner || lock.remembered_until > time) continue;
        const bool is_tie = lock.remembered_until == time;
        const bool is_told =
            witness_.is_told(lock.scope, std::string(lock.last_owner->view.owner.name));
        if (!is_tie || !is_told) lock.last_owner.reset();
    }
}

// Rules G6, I1.
void NaiveTable::forget_what_is_over() {
    for (Lock& lock : locks_) {
        if (lock.last_owner && lock.remembered_until <= now_) lock.last_owner.reset();
    }
    std::erase_if(locks_, [this](const Lock& lock) {
        return lock.idle_since && add_saturating(*lock.idle_since, options_.idle_retention) <= now_;
    });
}

// Rules I1 and I2.
void NaiveTable::tidy() {
    for (Lock& lock : locks_) {
        if (is_in_use(lock)) {
            lock.idle_since.reset();
        } else if (!lock.idle_since) {
            lock.idle_since = now_;
        }
    }
    const bool keeps_any = options_.idle_retention > Duration::zero();
    std::erase_if(locks_, [&](const Lock& lock) {
        const bool is_kept = keeps_any && (!options_.idle_door || lock.is_of_idle_door);
        return lock.idle_since && !is_kept;
    });
}

// Rules Q5, Q9.
void NaiveTable::serve_queue() {
    while (true) {
        std::optional<std::size_t> next;
        for (std::size_t index = 0; index < waiters_.size(); ++index) {
            if (find_blocked(waiters_[index].members, index)) continue;
            const auto place_of = [this](std::size_t waiter) {
                return witness_.place_of_grant(waiters_[waiter].id.serial);
            };
            if (!next || place_of(index) < place_of(*next)) next = index;
        }
        if (!next) return;
        const Waiter waiter = waiters_[*next];
        waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(*next));
        grant(waiter.request, waiter.members, &waiter);
    }
}

// Rules Q1 and M2, for a request behind the first `ahead` waiters: the first of its members that
// has something in its way.
std::optional<std::size_t> NaiveTable::find_blocked(const Members& members,
                                                    std::size_t ahead) const {
    for (std::size_t index = 0; index < members.size(); ++index) {
        if (is_blocked_by_leases(members[index])) return index;
        const auto end = waiters_.begin() + static_cast<std::ptrdiff_t>(ahead);
        const bool is_behind_any = std::any_of(waiters_.begin(), end, [&](const Waiter& earlier) {
            return is_behind(members[index], earlier);
        });
        if (is_behind_any) return index;
    }
    return std::nullopt;
}

// Rules C1 to C7.
bool NaiveTable::is_blocked_by_leases(const SetMember& wanted) const {
    std::size_t permits = 0;
    for (const Lease& lease : leases_) {
        for (const SetMember& member : lease.members) {
            if (wanted.scope.kind == ScopeKind::semaphore) {
                if (is_same_lock(member.scope, wanted.scope)) ++permits;
            } else if (is_excluding(member.scope, member.mode, wanted.scope, wanted.mode)) {
                return true;
            }
        }
    }
    return wanted.scope.kind == ScopeKind::semaphore && permits >= wanted.limit;
}

// Rule Q2.
bool NaiveTable::is_behind(const SetMember& later, const SetMember& earlier) {
    const Scope& scope = earlier.scope;
    const bool is_inode = scope.kind == ScopeKind::inode || scope.kind == ScopeKind::range;
    if (!is_inode) return is_same_lock(scope, later.scope);
    return is_excluding(scope, earlier.mode, later.scope, later.mode);
}

bool NaiveTable::is_behind(const SetMember& later, const Waiter& earlier) {
    return std::any_of(earlier.members.begin(), earlier.members.end(),
                       [&](const SetMember& member) { return is_behind(later, member); });
}

// A new lease: L1, F1, G6, G7, P5. `waiter` is set if the request was queued.
Outcome NaiveTable::grant(const AcquireRequest& request, const Members& members,
                          const Waiter* waiter) {
    const Fence fence{next_fence_++};
    const Time expires_at = add_saturating(now_, request.ttl);
    Lease lease{.view = {.scope = request.scope,
                         .owner = request.owner,
                         .mode = request.mode,
                         .state = LeaseState::held,
                         .is_transient = request.is_transient,
                         .token = {.fence = fence, .secret = request.secret},
                         .acquired_at = now_,
                         .expires_at = expires_at,
                         .grace_until = add_saturating(expires_at, request.grace),
                         .ttl = request.ttl,
                         .session = request.session,
                         .notes = request.notes,
                         .members = waiter != nullptr ? waiter->text : text_of(members),
                         .value = request.value,
                         .revision = request.value.empty() ? 0U : 1U},  // E1
                .members = members,
                .grace = request.grace,
                .memory = request.memory};
    lease.view.mode = members.front().mode;
    std::string_view previous_owner;
    for (const SetMember& member : members) {
        Lock& lock = need_lock(member);
        ++lock.version;  // V1
        const bool is_first = &member == &members.front();
        if (lock.last_owner && is_first) previous_owner = lock.last_owner->view.owner.name;
        lock.last_owner.reset();
    }
    leases_.push_back(lease);
    if (waiter != nullptr) {
        for (Entry& entry : entries_) {
            if (entry.state != Entry::State::queued || entry.waiter != waiter->id) continue;
            entry.state = Entry::State::granted;
            entry.fence = fence;
        }
    }
    tell(EventKind::granted, Cause::request, lease, waiter, previous_owner);
    return {
        .kind = Outcome::Kind::granted, .lease = view_of(lease), .previous_owner = previous_owner};
}

// Rules E1 to E3.
Outcome NaiveTable::set_value(Time now, const SetValueRequest& request) {
    begin(now);
    const Refusal refusal = judge(request.token, std::nullopt, std::nullopt);
    if (refusal != Refusal::none) return done(Outcome::refuse(refusal));
    if (request.value.size() > options_.limits.value_length_max) {
        return done(Outcome::refuse(Refusal::value_length_max));  // N1
    }
    Lease& lease = *find_lease(request.token.fence);
    if (lease.view.value != request.value) {  // E2
        lease.view.value = request.value;
        ++lease.view.revision;
        ++find_lock(lease.view.scope)->version;  // V1
        tell(EventKind::value_set, Cause::request, lease);
    }
    return done({.kind = Outcome::Kind::renewed, .lease = view_of(lease)});
}

}  // namespace holdfast::model
