#pragma once

// Translates between the types of the public headers and those of the engine.

#include <chrono>
#include <optional>
#include <vector>

#include "holdfast/lock.h"
#include "holdfast/lock_error.h"
#include "holdfast/lock_result.h"
#include "service/ports/clock.h"
#include "service/request.h"

namespace holdfast::embedded {

// A duration that is too long for the engine becomes the longest that it has.
[[nodiscard]] core::Duration to_core(std::chrono::milliseconds duration);

[[nodiscard]] inline core::Token to_core(LockToken token) {
    return {core::Fence{token.fencing_number}, core::Secret{token.secret}};
}

[[nodiscard]] inline core::Mode to_core(LockMode mode) {
    return mode == LockMode::exclusive ? core::Mode::exclusive : core::Mode::shared;
}

// A view of `scope`. REQUIRES: `scope` outlives the view.
[[nodiscard]] core::Scope to_core(const LockScope& scope);

// Nothing for a semaphore.
[[nodiscard]] std::optional<LockScope> to_scope(const core::Scope& scope);

[[nodiscard]] inline LockToken to_token(core::Token token) {
    return {core::as_number(token.fence), static_cast<std::uint64_t>(token.secret)};
}

// Nothing for a semaphore.
[[nodiscard]] std::optional<Lock> to_lock(const core::LeaseView& lease,
                                          const service::Clock& clock);

// The held locks, without semaphores.
[[nodiscard]] std::vector<Lock> to_locks(const std::vector<core::LockView>& locks,
                                         const service::Clock& clock);

// Why nothing was granted or done. `is_remembered`: the book knows the token.
// REQUIRES: the response is a refusal or a failure.
[[nodiscard]] LockError to_error(const service::Response& response, const service::Clock& clock,
                                 bool is_remembered);

}  // namespace holdfast::embedded
