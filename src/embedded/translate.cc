#include "embedded/translate.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "core/values/ids.h"
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

}  // namespace

Lease to_lease(const core::LeaseView& lease, const service::Clock& clock) {
    std::string token;
    core::append_token(token, lease.token);
    return {.scope = values::to_scope(lease.scope),
            .owner = std::string(lease.owner.name),
            .mode = lease.mode == core::Mode::exclusive ? LockMode::exclusive : LockMode::shared,
            .token = std::move(token),
            .fencing_token = core::as_number(lease.token.fence),
            .ttl = std::chrono::duration_cast<std::chrono::milliseconds>(lease.ttl),
            .metadata = std::string(lease.notes.metadata),
            .acquired_at = clock.wall(lease.acquired_at),
            .expires_at = lease.is_endless() ? end_of(lease, clock) : clock.wall(lease.expires_at),
            .lasts_until =
                lease.is_endless() ? BootClock::time_point::max() : to_boot_time(lease.expires_at)};
}

std::vector<Lease> to_leases(const std::vector<core::LockView>& locks,
                             const service::Clock& clock) {
    std::vector<Lease> held;
    for (const core::LockView& lock : locks) {
        for (const core::LeaseView& lease : lock.holders) {
            if (lease.state != core::LeaseState::held) continue;
            held.push_back(to_lease(lease, clock));
            held.back().limit = lock.limit;
        }
    }
    return held;
}

namespace {

LockError held_by(const core::LeaseView& lease, const service::Clock& clock) {
    return LockHeld{.scope = values::to_scope(lease.scope),
                    .holder = std::string(lease.owner.name),
                    .expires_at = end_of(lease, clock)};
}

// What is wrong with a request, for people.
std::string explain(core::Refusal refusal) {
    switch (refusal) {
        case core::Refusal::key_length_max: return "the name is too long";
        case core::Refusal::owner_length_max: return "the owner's name is too long";
        case core::Refusal::metadata_length_max: return "the metadata is too long";
        case core::Refusal::request_id_length_max: return "the request id is too long";
        case core::Refusal::ttl_out_of_range: return "the ttl is too short or too long";
        case core::Refusal::permits_max: return "the limit is too large";
        case core::Refusal::empty_key: return "the name is empty";
        case core::Refusal::empty_range: return "the range has no bytes";
        case core::Refusal::limit_mismatch: return "the semaphore has another limit";
        case core::Refusal::other_kind:
            return "the name is a lock and cannot be a semaphore, or the other way round";
        case core::Refusal::request_superseded: return "a later request with this id waits";
        // The rest is of sessions, which we do not use.
        default: return std::string(core::to_text(refusal));
    }
}

}  // namespace

LockError to_error(const service::Response& response, const service::Clock& clock,
                   bool is_remembered) {
    if (!response.failure.empty()) {
        return LockStoreFailure{.message = std::string(response.failure),
                                .is_busy = response.is_busy};
    }
    const core::Outcome& outcome = response.outcome;
    CHECK(outcome.kind == core::Outcome::Kind::refused);
    switch (outcome.refusal) {
        case core::Refusal::held:
        case core::Refusal::in_grace: return held_by(outcome.lease, clock);
        case core::Refusal::unknown_lease: return LockNotFound{};
        case core::Refusal::lease_ended:
            if (is_remembered) return LockExpired{};
            return LockNotFound{};
        case core::Refusal::request_ended: return LockExpired{};
        case core::Refusal::locks_max:
        case core::Refusal::leases_max: return LockLimitReached{"too many leases are held"};
        case core::Refusal::waiters_max:
        case core::Refusal::waiters_per_lock_max: return LockLimitReached{"too many requests wait"};
        default: return InvalidLockRequest{explain(outcome.refusal)};
    }
}

}  // namespace holdfast::embedded
