#include "embedded/translate.h"

#include <string>

#include "base/check.h"

namespace holdfast::embedded {

core::Duration to_core(std::chrono::milliseconds duration) {
    constexpr auto longest = std::chrono::floor<std::chrono::milliseconds>(core::Duration::max());
    if (duration >= longest) return core::Duration::max();
    if (duration <= -longest) return -core::Duration::max();
    return duration;
}

core::Scope to_core(const LockScope& scope) {
    struct Translate {
        core::Scope operator()(const LockScope::Named& named) const {
            return core::Scope::named(named.name);
        }
        core::Scope operator()(const LockScope::Path& path) const {
            return core::Scope::path(path.path);
        }
        core::Scope operator()(const LockScope::Inode& inode) const {
            return core::Scope::of_inode(inode.inode);
        }
        core::Scope operator()(const LockScope::ByteRange& range) const {
            return core::Scope::of_range(range.inode, {range.start, range.end});
        }
    };
    return std::visit(Translate{}, scope.value());
}

std::optional<LockScope> to_scope(const core::Scope& scope) {
    switch (scope.kind) {
        case core::ScopeKind::named: return LockScope::Named{std::string(scope.name)};
        case core::ScopeKind::path: return LockScope::Path{std::string(scope.name)};
        case core::ScopeKind::inode: return LockScope::Inode{scope.inode};
        case core::ScopeKind::range:
            return LockScope::ByteRange{scope.inode, scope.range.start, scope.range.end};
        case core::ScopeKind::semaphore: break;
    }
    return std::nullopt;
}

std::optional<Lock> to_lock(const core::LeaseView& lease, const service::Clock& clock) {
    const auto scope = to_scope(lease.scope);
    if (!scope) return std::nullopt;
    return Lock{
        .scope = *scope,
        .holder = std::string(lease.owner.name),
        .mode = lease.mode == core::Mode::exclusive ? LockMode::exclusive : LockMode::shared,
        .acquired_at = clock.wall(lease.acquired_at),
        .expires_at = clock.wall(lease.expires_at),
        .token = to_token(lease.token),
        .fencing_token = core::as_number(lease.token.fence),
        .duration = std::chrono::duration_cast<std::chrono::milliseconds>(lease.ttl),
        .deadline = std::chrono::steady_clock::time_point{lease.expires_at.time_since_epoch()}};
}

std::vector<Lock> to_locks(const std::vector<core::LockView>& locks, const service::Clock& clock) {
    std::vector<Lock> held;
    for (const core::LockView& lock : locks) {
        for (const core::LeaseView& lease : lock.holders) {
            if (lease.state != core::LeaseState::held) continue;
            if (auto translated = to_lock(lease, clock)) held.push_back(std::move(*translated));
        }
    }
    return held;
}

namespace {

LockError held_by(const core::LeaseView& lease, const service::Clock& clock) {
    // The lock in the way of such a scope is never a semaphore.
    const auto scope = to_scope(lease.scope);
    CHECK(scope);
    return LockHeld{.scope = *scope,
                    .holder = std::string(lease.owner.name),
                    // One that has ended may be kept for its last owner.
                    .expires_at = clock.wall(lease.grace_until)};
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
        case core::Refusal::locks_max:
        case core::Refusal::leases_max: return LockLimitReached{"too many locks are held"};
        case core::Refusal::waiters_max:
        case core::Refusal::waiters_per_lock_max: return LockLimitReached{"too many requests wait"};
        case core::Refusal::key_length_max: return InvalidLockRequest{"the name is too long"};
        case core::Refusal::owner_length_max:
            return InvalidLockRequest{"the holder's name is too long"};
        case core::Refusal::ttl_out_of_range:
            return InvalidLockRequest{"the duration is too short or too long"};
        case core::Refusal::empty_key: return InvalidLockRequest{"the name is empty"};
        case core::Refusal::empty_range: return InvalidLockRequest{"the range has no bytes"};
        default: break;
    }
    // The rest is of semaphores, sessions and request ids, none of which we use.
    return InvalidLockRequest{std::string(core::to_text(outcome.refusal))};
}

}  // namespace holdfast::embedded
