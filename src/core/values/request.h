#pragma once

// What is asked of the lock table and what it decides, as plain data.
//
// Requests are views: the strings belong to the caller and are read during the call only. The
// string_views of an outcome (LeaseView) point into the table and are valid until the next call.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/values/ids.h"
#include "core/values/scope.h"
#include "core/values/scope_set.h"
#include "core/values/turn_limits.h"

namespace holdfast::core {

// A wait without a time limit: it ends with a grant, a cancellation or the end of the session.
inline constexpr Duration wait_forever = Duration::max();

// The TTL of a lease without an end: it has no deadline (it expires at Time::max()), and lasts until
// it is released. A renewal with another TTL gives it an end.
inline constexpr Duration endless = Duration::max();
// For doors that read a TTL of any length: the longest one that is not without an end. (It is beyond
// Limits::ttl_max, and so refused.)
inline constexpr Duration ttl_below_endless = endless - Duration{1};

// Texts that belong to a lease and are shown with it. The engine reads none of them but `waiter`.
struct Notes {
    std::string_view request_id;  // by which a repeated request is recognised
    std::string_view metadata;    // for people
    // Who waits, if it is not the owner as a whole: a thread or a task of it. Requests and leases of
    // one owner and one waiter are one identity (LockTable says what that is for).
    std::string_view waiter = {};

    bool operator==(const Notes&) const = default;
};

// The terms of a lease: they decide how long it lasts and what is left when it expires.
struct LeaseTerms {
    Duration ttl{0};
    // After the lease has expired, only its last owner can get the lock for so long.
    Duration grace{0};
    // After the grace, the name of the last owner is remembered for so long, or until the next
    // grant.
    Duration memory{0};
    // The lease lasts no longer than this run of the server. Stores do not know of it until it is
    // renewed on other terms.
    bool is_transient = false;

    bool operator==(const LeaseTerms&) const = default;
};

// What to do with a request that would wait for ever, because it and others wait for each other.
enum class OnDeadlock : std::uint8_t {
    tell,    // let it wait, and tell of it
    refuse,  // refuse it as `deadlock`; it does not join the queue
};

// Ask for a lock.
struct AcquireRequest {
    Scope scope;
    Owner owner;
    Mode mode = Mode::exclusive;
    std::uint32_t limit = 1;  // semaphores only: how many permits there are
    // Several scopes, all or nothing: all of them, the first included. Empty: `scope` alone. With
    // members, `scope`, `mode` and `limit` are those of members[0].
    std::span<const SetMember> members = {};
    Duration ttl{0};  // see LeaseTerms, also for grace, memory and is_transient
    Duration grace{0};
    Duration memory{0};
    Duration wait{0};  // how long to queue; zero: not at all
    SessionId session;
    // If the owner holds the lock already, renew its lease instead of queueing behind it.
    bool renew_own = false;
    // named, semaphore: refused while the other of the two is held or wanted under this name.
    bool is_only_kind = false;
    bool is_transient = false;
    OnDeadlock on_deadlock = OnDeadlock::tell;
    Secret secret{};  // random bits for the token of the lease
    Notes notes;
    // Of a candidate for an election: what the leader tells everybody. Empty: none.
    std::string_view value = {};

    [[nodiscard]] LeaseTerms terms() const { return {ttl, grace, memory, is_transient}; }
};

// Put back a lease that was granted before the server was started: the request as it was made then,
// and what became of it. `wait`, `session`, `renew_own`, `is_transient` and `secret` are not used.
struct RestoreRequest : AcquireRequest {
    Token token;
    bool is_in_grace = false;
    Duration remaining{0};  // until the lease expires; if it is in grace, until the grace is over
    Time acquired_at;
    std::uint64_t version = 0;
    std::uint64_t revision = 0;  // see LeaseView
    std::string_view by = {};    // Event::by of the grant; empty: nobody, or it was not stored
};

// Why something happens to a lease or a waiter.
enum class Cause : std::uint8_t {
    none,         // by itself: a lease expired, a grace or a wait was over
    request,      // the client itself has asked for it
    session_end,  // the connection or login of the client has ended
    force,        // somebody else has asked for it
    restart,      // by itself: a lease expired that was restored, and was not renewed since
};

[[nodiscard]] std::string_view to_text(Cause cause);

// Extend a lease that has not ended.
struct RenewRequest {
    Token token;
    std::optional<Scope> scope;   // if given, the lease must be on exactly this scope
    std::optional<Owner> owner;   // if given, the lease must belong to this owner
    std::optional<Duration> ttl;  // if not given, the TTL of the lease
    // The renewal makes neither the end of the lease earlier nor its TTL shorter.
    bool never_shorten = false;
    // Somebody else than the holder asks for it. Only the event says so.
    bool is_forced = false;
};

// Give a lease that has not ended another value. Nothing else of the lease changes, nor when it ends.
struct SetValueRequest {
    Token token;
    std::string_view value;  // empty: none
};

// End a lease.
struct ReleaseRequest {
    Token token;
    std::optional<Scope> scope;
    std::optional<Owner> owner;
    Cause cause = Cause::request;
};

// The limits of the engine. A request beyond one of them is refused, with the name of the limit. What
// was there before the server started with these limits stays, and may be renewed as it is.
struct Limits {
    std::size_t locks_max = 10'000'000;
    // Leases that are held or in grace, and waiters, because a waiter becomes a lease without asking
    // again. A set counts once for each of its locks. Remembered owners do not count: there is at
    // most one for each lock.
    std::size_t leases_max = 4'000'000;
    // Those of them that are without an end. Nothing but a release makes room again.
    std::size_t endless_leases_max = 100'000;
    std::size_t waiters_max = 1'000'000;  // a set counts once for each of its locks
    std::size_t waiters_per_lock_max = 100'000;
    std::size_t sessions_max = 1'000'000;
    // Two-phase entries whose lease expired before the wait, of all sessions together. They exist
    // only to tell the next wait. Beyond this number the oldest is dropped. (Every other entry
    // stands for a waiter or a lease, and is limited by their numbers.)
    std::size_t expired_entries_max = 10'000;
    std::size_t key_length_max = 4096;
    std::size_t owner_length_max = 1024;
    std::size_t request_id_length_max = 256;
    std::size_t metadata_length_max = 1024;
    std::size_t value_length_max = 4096;
    std::size_t waiter_length_max = 256;
    std::size_t set_members_max = 64;
    // How many leases and waiters are looked at when a request joins a queue, to find out whether it
    // closes a cycle. A cycle that is longer is not seen.
    std::size_t deadlock_steps_max = 10'000;
    std::uint32_t permits_max = 1'000'000;
    Duration ttl_min = std::chrono::milliseconds{1};
    Duration ttl_max = std::chrono::hours{24 * 366};
};

// What the clients of one door may have, beside Limits. Only their own locks and waiters count, and
// only they are refused. A request for a set is never refused because of these limits.
struct DoorLimits {
    Door door{};
    std::size_t locks_max = SIZE_MAX;  // that they hold or wait for
    std::size_t waiters_per_lock_max = SIZE_MAX;
};

// How a lock table is set up.
struct TableOptions {
    Limits limits;
    std::optional<DoorLimits> door_limits;  // absent: no door has limits of its own
    // The fencing number of the first grant. A durable server continues where it stopped.
    std::uint64_t first_fence = 1;
    // The serial number of the first waiter or session. A table that replaces another one begins
    // where the other stopped: the ids of the old table must not name new sessions.
    std::uint64_t first_serial = 1;
    // How long the table keeps the record of a lock that nobody holds or wants. Zero: not at all.
    Duration idle_retention{0};
    // A lock with more holders than this is crowded: its holders are in an index (lock_table_own.cc).
    std::uint32_t few_holders_max = 16;
    // If it is given, only locks that a client of this door was the last to hold or want are kept,
    // and only requests of this door find them.
    std::optional<Door> idle_door;
    // Should be random: keys come from the network, and with a fixed hash a client could choose keys
    // that collide.
    std::uint64_t hash_seed = 0;
    // A call that would look at more records than this is cut into parts (lock_table_parts.cc).
    std::uint64_t visits_max = holdfast::core::visits_max;
};

// Why a request was not granted.
enum class Refusal : std::uint8_t {
    none,
    held,            // by another owner, or an earlier waiter wants it
    in_grace,        // the lease has expired; until its grace is over only its owner gets the lock
    timed_out,       // two-phase: a wait without any time, while the entry queues
    limit_mismatch,  // the semaphore exists with another number of permits
    other_kind,  // the name is a semaphore now, and a lock was asked for; or the other way round
    locks_max,   // Limits, by name
    leases_max,
    endless_leases_max,
    waiters_max,
    waiters_per_lock_max,
    sessions_max,
    key_length_max,
    name_not_utf8,  // only of a new lease: those of earlier versions may be renewed
    owner_length_max,
    request_id_length_max,
    metadata_length_max,
    value_length_max,
    waiter_length_max,
    sets_max_members,
    permits_max,
    ttl_out_of_range,
    empty_key,
    empty_range,
    overlapping_set,  // two members of a set have something in common
    deadlock,         // it and others would wait for each other (OnDeadlock::refuse)
    unknown_session,
    already_enqueued,  // two-phase: the session has an entry for this scope
    not_enqueued,      // two-phase: the session has no entry for this scope
    unknown_lease,     // no such token was ever given out, or it is not for this scope or owner
    lease_ended,       // the token was given out, and its lease has ended
    // By the service, when a request id was used before:
    request_mismatch,    // ... for another mode, or a semaphore with another limit
    request_ended,       // the lease that the earlier request was granted has ended
    request_superseded,  // a later request with the same id waits instead of this one
    still_waiting,       // the longest time without an answer is over; the waiter stays queued
    // By the service, when a lock is asked for:
    stopping,  // the server is about to end: ask again when it is back
    // By the service, when a token is checked for a scope:
    scope_mismatch,  // the lease is live, but does not cover the scope
    // By the service, when the client has no right to what a request is about, or none any more:
    denied,  // `lease.scope` is the first scope that the right is missing on
};
inline constexpr Refusal last_refusal = Refusal::denied;

[[nodiscard]] std::string_view to_text(Refusal refusal);

enum class LeaseState : std::uint8_t {
    held,
    grace,   // expired; only its last owner can get the lock
    lapsed,  // expired, and the lock is free; only the name of the last owner is remembered
};

// Renewals of a lease are counted up to this number.
inline constexpr std::uint8_t renewals_counted_max = 7;

// A lease as it is now.
struct LeaseView {
    Scope scope;
    Owner owner;
    Mode mode = Mode::exclusive;
    LeaseState state = LeaseState::held;
    bool is_transient = false;
    std::uint8_t renewals = 0;  // since the grant; renewals_counted_max if it was restored
    Token token;
    Time acquired_at;
    Time expires_at;   // when the lease expires, or has expired; Time::max(): it has no end
    Time grace_until;  // when others can be granted; expires_at if there is no grace
    Duration ttl{0};
    SessionId session;
    std::uint64_t version = 0;  // of the lock
    Notes notes;
    // A lease on several scopes: all of them, as set_to_text() writes them. Empty: `scope` alone.
    // `scope` and `mode` are those of the first member; where a single lock is shown (inspect, list,
    // a refusal), those of the member that is on this lock.
    std::string_view members = {};
    std::string_view value = {};  // of a candidate for an election; empty: none
    // How often the lease got a value: 1 for the value of the grant, and one more with every change
    // of it. 0: the lease never had a value.
    std::uint64_t revision = 0;

    [[nodiscard]] bool is_endless() const { return ttl == endless; }
};

// The decision on a request.
struct Outcome {
    enum class Kind : std::uint8_t {
        granted,
        renewed,
        found,  // by find(): the lease is live, and nothing has changed
        released,
        queued,
        refused,
    };

    Kind kind = Kind::refused;
    Refusal refusal = Refusal::none;
    // granted, renewed, found, refused as scope_mismatch: the lease of the caller.
    // refused as held or in_grace: a lease on what was asked for that is in the way; by the service
    // also as timed_out, if there is one.
    // Otherwise empty.
    LeaseView lease;
    // refused as held (by the service also as timed_out), and no lease on what was asked for is in the
    // way: a waiter is ahead, which may wait for something else. `lease` is what this waiter asks for: its scope, owner and mode, and
    // since when it waits (acquired_at). It has no token and no end.
    bool is_behind_waiter = false;
    // granted: the owner before this one, if its name is still remembered.
    std::string_view previous_owner;
    // queued: the waiter; after acquire and enqueue also its place in the queue, from 1.
    WaiterId waiter;
    std::size_t position = 0;
    // refused as held, or by the service as timed_out: how many waiters there are.
    std::size_t queue_length = 0;
    // refused as held or in_grace: a request that waits would be refused as waiters_per_lock_max.
    bool is_queue_full = false;
    // refused, and the request has members: which of them is refused, if the reason is one of them.
    std::size_t member = 0;
    // refused as deadlock: the cycle (values/cycle.h). Its first member is the caller.
    std::string_view cycle = {};

    static Outcome refuse(Refusal why, std::size_t member = 0) {
        Outcome outcome{.kind = Kind::refused, .refusal = why};
        outcome.member = member;
        return outcome;
    }
};

}  // namespace holdfast::core
