#include "embedded/translate.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "core/values/cycle.h"
#include "core/values/ids.h"
#include "core/values/scope_set.h"
#include "service/doors.h"
#include "values/lock_scope.h"

namespace holdfast::embedded {

core::Duration to_core(std::chrono::milliseconds duration) {
    constexpr auto longest = std::chrono::floor<std::chrono::milliseconds>(core::Duration::max());
    if (duration >= longest) return core::ttl_below_endless;
    if (duration <= -longest) return -core::Duration::max();
    return duration;
}

namespace {

// When others can have the lock: a lease that has expired may be kept for its last owner. The last
// moment of all stands for a lease without an end, which a server may have left in the database.
std::chrono::system_clock::time_point end_of(const core::LeaseView& lease,
                                             const service::Clock& clock) {
    if (lease.is_endless()) return std::chrono::system_clock::time_point::max();
    return clock.wall(lease.grace_until);
}

LockMode to_mode(core::Mode mode) {
    return mode == core::Mode::exclusive ? LockMode::exclusive : LockMode::shared;
}

std::vector<LockSetMember> to_members(std::string_view text) {
    std::vector<LockSetMember> members;
    for (const core::SetMember& member :
         core::parse_set(text).value_or(std::vector<core::SetMember>())) {
        members.push_back({.scope = values::to_scope(member.scope),
                           .mode = to_mode(member.mode),
                           .limit = member.limit});
    }
    return members;
}

}  // namespace

Lease to_lease(const core::LeaseView& lease, const service::Clock& clock) {
    std::string token;
    core::append_token(token, lease.token);
    std::vector<LockSetMember> members = to_members(lease.members);
    const bool is_set = !members.empty();
    return {.scope = is_set ? members.front().scope : values::to_scope(lease.scope),
            .holder = std::string(lease.owner.name),
            .mode = is_set ? members.front().mode : to_mode(lease.mode),
            .token = std::move(token),
            .fencing_token = core::as_number(lease.token.fence),
            .ttl = std::chrono::duration_cast<std::chrono::milliseconds>(lease.ttl),
            .metadata = std::string(lease.notes.metadata),
            .acquired_at = clock.wall(lease.acquired_at),
            .expires_at = lease.is_endless() ? end_of(lease, clock) : clock.wall(lease.expires_at),
            .lasts_until =
                lease.is_endless() ? BootClock::time_point::max() : to_boot_time(lease.expires_at),
            .scopes = std::move(members),
            .value = std::string(lease.value),
            .revision = lease.revision};
}

std::vector<Lease> to_leases(const std::vector<core::LockView>& locks,
                             const service::Clock& clock) {
    std::vector<Lease> held;
    std::unordered_set<std::uint64_t> sets;  // a lease on several locks is on each of them
    for (const core::LockView& lock : locks) {
        for (const core::LeaseView& lease : lock.holders) {
            if (lease.state != core::LeaseState::held) continue;
            const bool is_set = !lease.members.empty();
            if (is_set && !sets.insert(core::as_number(lease.token.fence)).second) continue;
            held.push_back(to_lease(lease, clock));
            held.back().limit = is_set ? held.back().scopes.front().limit : lock.limit;
        }
    }
    std::ranges::sort(held, {}, &Lease::fencing_token);
    return held;
}

namespace {

LockError held_by(const core::LeaseView& lease, const service::Clock& clock) {
    return LockHeld{.scope = values::to_scope(lease.scope),
                    .holder = std::string(lease.owner.name),
                    .expires_at = end_of(lease, clock)};
}

LockError to_deadlock(std::string_view cycle) {
    LockDeadlock deadlock{.scope = LockScope::Named{}, .cycle = {}};
    for (const core::CycleMember& member :
         core::parse_cycle(cycle).value_or(std::vector<core::CycleMember>())) {
        deadlock.cycle.push_back({.holder = std::string(member.owner.name),
                                  .waiter = std::string(member.waiter),
                                  .door = std::string(service::to_text(member.owner.door)),
                                  .waits_for = values::to_scope(member.waits_for),
                                  .held_by = std::string(member.held_by.name),
                                  .fencing_token = core::as_number(member.fence)});
    }
    if (!deadlock.cycle.empty()) deadlock.scope = deadlock.cycle.front().waits_for;
    return deadlock;
}

// What is wrong with a request, for people.
std::string explain(core::Refusal refusal) {
    switch (refusal) {
        case core::Refusal::key_length_max: return "the name is too long";
        case core::Refusal::name_not_utf8: return "the name is not UTF-8";
        case core::Refusal::owner_length_max: return "the holder's name is too long";
        case core::Refusal::metadata_length_max: return "the metadata is too long";
        case core::Refusal::request_id_length_max: return "the request id is too long";
        case core::Refusal::ttl_out_of_range: return "the ttl is too short or too long";
        case core::Refusal::permits_max: return "the limit is too large";
        case core::Refusal::empty_key: return "the name is empty";
        case core::Refusal::empty_range: return "the range has no bytes";
        case core::Refusal::limit_mismatch: return "the semaphore has another limit";
        case core::Refusal::other_kind:
            return "the name is a lock and cannot be a semaphore, or the other way round";
        case core::Refusal::value_length_max:
            return "the value is too long: it has 4096 bytes at most";
        case core::Refusal::waiter_length_max: return "the waiter's name is too long";
        case core::Refusal::request_mismatch:
            return "the request id was used for another mode or limit";
        case core::Refusal::request_superseded: return "a later request with this id waits";
        // The rest is of sessions, which we do not use.
        default: return std::string(core::to_text(refusal));
    }
}

}  // namespace

LockError to_error(const service::Response& response, const service::Clock& clock) {
    if (!response.failure.empty()) {
        return LockStoreFailure{.message = std::string(response.failure),
                                .is_busy = response.is_busy};
    }
    const core::Outcome& outcome = response.outcome;
    CHECK(outcome.kind == core::Outcome::Kind::refused);
    switch (outcome.refusal) {
        case core::Refusal::held:
        case core::Refusal::in_grace: return held_by(outcome.lease, clock);
        case core::Refusal::deadlock: return to_deadlock(outcome.cycle);
        case core::Refusal::unknown_lease: return LockNotFound{};
        case core::Refusal::lease_ended:
        case core::Refusal::request_ended: return LockExpired{};
        case core::Refusal::locks_max:
        case core::Refusal::leases_max: return LockLimitReached{"too many leases are held"};
        case core::Refusal::waiters_max:
        case core::Refusal::waiters_per_lock_max: return LockLimitReached{"too many requests wait"};
        default: return InvalidLockRequest{explain(outcome.refusal)};
    }
}

LockError to_error(const service::FenceOutcome& outcome) {
    if (outcome.kind == service::FenceOutcome::Kind::resources_max) {
        return LockLimitReached{"too many resources are remembered; drop those not used any more"};
    }
    const bool is_too_long = outcome.kind == service::FenceOutcome::Kind::resource_length_max;
    return InvalidLockRequest{is_too_long ? "the name of the resource is too long"
                                          : "the name of the resource is not UTF-8"};
}

}  // namespace holdfast::embedded
