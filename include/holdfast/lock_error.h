#pragma once

// Why there is no lock: one type for each reason, with the facts that a program can act on.
//
//     if (const auto* held = std::get_if<LockHeld>(&result.error())) wait_for(held->holder);

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "holdfast/export.h"
#include "holdfast/lock_scope.h"

namespace holdfast {

// Somebody else has it, or something that conflicts with it. If a server does not say who, the holder
// is empty, and the scope is what was asked for.
struct LockHeld {
    LockScope scope;  // of the lock in the way
    std::string holder;
    std::chrono::system_clock::time_point expires_at;           // max(): without an end
    std::optional<std::chrono::milliseconds> retry_after = {};  // what a server recommends
};

// One of those who wait for one another. It waits for a lock that the next one has, and the last one
// for a lock of the first.
struct DeadlockMember {
    std::string holder;                        // who waits, as its leases name it
    std::string waiter;                        // LeaseRequest::waiter, if there is one
    std::string door;                          // the protocol that it speaks
    LockScope waits_for = LockScope::Named{};  // the lock that it waits for,
    std::string held_by;                       // who has it, or is before it in the queue,
    std::uint64_t fencing_token = 0;           // and under which number; 0: is in the queue
    bool is_hidden = false;  // the client may not read of it: nothing else is known

    bool operator==(const DeadlockMember&) const = default;
};

// To wait would be to wait for ever: everybody in the cycle waits for the next. Nothing was granted,
// and what the caller holds it still holds. Release that, and begin again.
struct LockDeadlock {
    LockScope scope;  // what was asked for
    std::vector<DeadlockMember> cycle;
};

// No such token was ever issued.
struct LockNotFound {};

// The lock has ended: its lease expired, or it was released. This is final. Tokens carry the fencing
// number of their grant, so this is known of every number that was ever given out; an invented token
// with such a number is called expired, too.
struct LockExpired {};

// The lock is good, but not for this.
struct LockScopeMismatch {
    LockScope held;
    LockMode held_mode = LockMode::exclusive;
    LockScope wanted;
    LockMode wanted_mode = LockMode::exclusive;
};

// No renewal was confirmed in time: the lock may have ended.
struct LockNotGuaranteed {
    std::string message;  // how the last renewal failed, if one did
};

// The caller's std::stop_token said so. Nothing is held.
struct LockCancelled {};

// A limit of LockManagerOptions, or of the server, is reached.
struct LockLimitReached {
    std::string message;
};

// The request makes no sense: an empty name, a range without bytes, a ttl out of bounds.
struct InvalidLockRequest {
    std::string message;
};

// The file that keeps the locks cannot be read or written. Nothing was done.
struct LockStoreFailure {
    std::string message;
    bool is_busy = false;  // somebody else has it locked: trying again may help
};

// The server cannot be reached, does not answer in time, cannot prove its name, or cannot write
// to its disk. Whether a request had an effect is not known.
struct ServerUnavailable {
    std::string message;
};

// The server wants a token, another one than ours, or the admin's.
struct NotPermitted {
    std::string message;
};

// The resource was used under a larger fencing token before: somebody else has had the lock since
// then. Do not write.
struct StaleFence {
    std::string resource;
    std::uint64_t fencing_token = 0;
    std::uint64_t highest = 0;
};

using LockError =
    std::variant<LockHeld, LockNotFound, LockExpired, LockScopeMismatch, LockNotGuaranteed,
                 LockCancelled, LockLimitReached, InvalidLockRequest, LockStoreFailure,
                 ServerUnavailable, NotPermitted, StaleFence, LockDeadlock>;

// `ann waits for bob, who holds b and waits for ann`.
[[nodiscard]] HOLDFAST_API std::string to_text(const std::vector<DeadlockMember>& cycle);

// A sentence for people.
[[nodiscard]] HOLDFAST_API std::string to_text(const LockError& error);

}  // namespace holdfast
