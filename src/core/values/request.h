#pragma once

// What is asked of the lock table and what it answers, as plain data.
//
// Requests are views: the strings belong to the caller and are read during the call only. Answers
// that hold string_views (LeaseView) point into the table and are good until the next call on it.

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/values/ids.h"
#include "core/values/scope.h"
#include "core/values/time.h"

namespace holdfast::core {

// A wait that only a grant, a cancel or the end of its session ends.
inline constexpr Duration wait_forever = Duration::max();

// Texts that are kept with a lease and shown with it. The engine does not look into them.
struct Notes {
    std::string_view request_id;  // by which its client recognises the request when it asks again
    std::string_view metadata;    // for people

    bool operator==(const Notes&) const = default;
};

// Ask for a lock.
struct AcquireRequest {
    Scope scope;
    Owner owner;
    Mode mode = Mode::exclusive;
    std::uint32_t limit = 1;  // semaphores only: how many permits there are
    Duration ttl{0};
    // After the lease expires the lock is kept for this owner for so long; asking again reclaims
    // it.
    Duration grace{0};
    // After that, its name is remembered for so long, or until somebody else takes the lock.
    Duration memory{0};
    // How long to queue. Zero: now or never.
    Duration wait{0};
    SessionId session;
    // The same owner asking again while it holds the lock renews it instead of waiting for itself.
    bool renew_own = false;
    // The lease lasts no longer than this run of the server: no store needs to know of it, until it
    // is renewed on other terms.
    bool is_transient = false;
    // Random bits for the token, should this be granted.
    Secret secret{};
    Notes notes;
};

// A lease that was granted before the server was started, as a store remembers it.
struct RestoreRequest {
    Scope scope;
    Owner owner;
    Mode mode = Mode::exclusive;
    std::uint32_t limit = 1;
    Token token;
    Duration ttl{0};
    Duration grace{0};
    Duration memory{0};
    bool is_in_grace = false;
    Duration remaining{0};  // until the lease ends; in grace, until that is over
    Time acquired_at;
    std::uint64_t version = 0;
    Notes notes;
};

// How a lease is kept.
struct LeaseTerms {
    Duration ttl{0};
    Duration grace{0};
    Duration memory{0};
    bool is_transient = false;

    bool operator==(const LeaseTerms&) const = default;
};

// Extend a lease that has not ended.
struct RenewRequest {
    Token token;
    std::optional<Scope> scope;   // if given, the lease must be on exactly this
    std::optional<Owner> owner;   // if given, it must belong to this owner
    std::optional<Duration> ttl;  // its own again, if not given
    // Keep the old end when that is the later one, and the lease's own TTL when that is the longer.
    bool never_shorten = false;
};

// Give a lease back.
struct ReleaseRequest {
    Token token;
    std::optional<Scope> scope;
    std::optional<Owner> owner;
};

// Why a request was not granted.
enum class Refusal : std::uint8_t {
    none,
    held,            // by somebody else, or wanted by an earlier waiter
    in_grace,        // ended, but kept for its last owner
    timed_out,       // a wait of no length on a queued entry
    limit_mismatch,  // the semaphore exists with another number of permits
    locks_max,       // Limits, by name
    leases_max,
    waiters_max,
    waiters_per_lock_max,
    sessions_max,
    key_length_max,
    owner_length_max,
    request_id_length_max,
    metadata_length_max,
    permits_max,
    ttl_out_of_range,
    empty_key,
    empty_range,
    unknown_session,
    already_enqueued,  // two-phase: this session is in that queue
    not_enqueued,      // two-phase: it is not
    unknown_lease,     // no such token was ever given out, or it is not for this scope or owner
    lease_ended,       // it was, and is over
    // By the service, of a request whose id was used before:
    request_ended,       // what it was granted is over
    request_superseded,  // the client asked again, and waits there
    still_waiting,       // the longest time without an answer is over; its place is kept
    // By the service, of whatever asks for a lock:
    stopping,  // the server is about to end; after that, asking again makes sense
    // By the service, of a token that is shown for a scope:
    scope_mismatch,  // its lease lives, but does not cover that
};

[[nodiscard]] std::string_view to_text(Refusal refusal);

enum class LeaseState : std::uint8_t {
    held,
    grace,   // ended; kept for its last owner
    lapsed,  // ended and free; only the name of the last owner is remembered
};

// Renewals of a lease are counted up to this number.
inline constexpr std::uint8_t renewals_counted_max = 7;

// One lease as it stands.
struct LeaseView {
    Scope scope;
    Owner owner;
    Mode mode = Mode::exclusive;
    LeaseState state = LeaseState::held;
    bool is_transient = false;
    std::uint8_t renewals = 0;  // since it was granted; renewals_counted_max if it was restored
    Token token;
    Time acquired_at;
    Time expires_at;   // when the lease ends, or has ended
    Time grace_until;  // when others can be granted; expires_at if there is no grace
    Duration ttl{0};
    SessionId session;
    std::uint64_t version = 0;  // of the lock
    Notes notes;
};

// The answer to acquire, enqueue, wait, renew and release.
struct Outcome {
    enum class Kind : std::uint8_t { granted, renewed, released, queued, refused };

    Kind kind = Kind::refused;
    Refusal refusal = Refusal::none;
    // granted, renewed: the caller's lease; also when refused as scope_mismatch. refused as held or
    // in_grace: a lease that is in the way. Otherwise empty.
    LeaseView lease;
    // granted: who had the lock before, where that is still remembered.
    std::string_view previous_owner;
    // queued: the name of the place in the queue; by acquire and enqueue also its number, from 1.
    WaiterId waiter;
    std::size_t position = 0;
    // refused as held: how many wait already.
    std::size_t queue_length = 0;

    static Outcome refuse(Refusal why) { return {.kind = Kind::refused, .refusal = why}; }
};

}  // namespace holdfast::core
