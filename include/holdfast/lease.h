#pragma once

// The request for a lease, and the lease: the same for the engine inside a program (LockManager) and
// for a server (Client).

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/boot_clock.h"
#include "holdfast/export.h"
#include "holdfast/lock_scope.h"

namespace holdfast {

// One lock of several that are asked for together, and how it is locked.
struct LockSetMember {
    LockScope scope;
    LockMode mode = LockMode::exclusive;
    // Of a semaphore. A name with a limit above 1 is a semaphore, too.
    std::uint64_t limit = 1;

    bool operator==(const LockSetMember&) const = default;
};

// What becomes of a request that waits for somebody who, perhaps by way of others, waits for it.
enum class OnDeadlock : std::uint8_t {
    refuse,  // it fails with LockDeadlock
    tell,    // it waits on; the server says so in its log and its events
};

// Asks for a lease on a lock:
//
//     {.scope = LockScope::Named{"nightly"}}
//
// or on several, all or nothing. While it waits, it holds none of them:
//
//     {.scopes = {{LockScope::Named{"db-a"}}, {LockScope::Path{"/x"}, LockMode::shared}}}
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order in which people write it
struct LeaseRequest {
    LockScope scope = LockScope::Named{};
    std::string holder;                     // empty: this host, process and client (or manager)
    std::chrono::milliseconds ttl{30'000};  // how long it lasts, unless it is renewed
    LockMode mode = LockMode::exclusive;
    // Of a semaphore: how many may hold it at the same time. A name with a limit above 1 is a
    // semaphore, too.
    std::uint64_t limit = 1;
    std::string metadata;  // shown with the lease
    std::string value;     // of a candidate for an election: what it tells everybody when it leads
    // Requests with the same id have the effect of one: a repetition finds the lease and renews it.
    // Empty: a new request.
    std::string request_id;
    // At most 64, which do not overlap. Then `scope`, `mode` and `limit` stay as they are.
    std::vector<LockSetMember> scopes = {};
    // Whose wait it is: what waits for a lock while it holds others, and so can be part of a deadlock.
    // Empty: this thread, or the one call of AsyncLocks. Leases that are handed on need another name.
    std::string waiter = {};
    OnDeadlock on_deadlock = OnDeadlock::refuse;
};

// Lease: the right to hold a lock until a deadline. A value: nobody renews it but you; see LeaseGuard
// for one that renews itself.
struct HOLDFAST_API Lease {
    LockScope scope;  // of a lease on several locks: the first
    std::string holder;
    LockMode mode = LockMode::exclusive;
    // As it was asked for; 1 if all that is known of the lease is its token.
    std::uint64_t limit = 1;
    // 32 hexadecimal digits. Secret: it proves that somebody holds the lease. Later grants have
    // larger tokens, as texts.
    std::string token;
    // Grows with every grant. Storage that refuses numbers smaller than the largest it has seen
    // cannot be harmed by a holder that was too slow.
    std::uint64_t fencing_token = 0;
    std::chrono::milliseconds ttl{0};
    std::string metadata;
    // By the wall clock of the server (or of this machine), for people only.
    std::chrono::system_clock::time_point acquired_at;
    std::chrono::system_clock::time_point expires_at;
    // By this machine's clock: the lease ends no earlier. Of a server's lease it is counted from
    // before the request was sent; long ago, if all that is known of that lease is its token.
    BootClock::time_point lasts_until;
    // Of a lease on several locks: all of them. Otherwise empty.
    std::vector<LockSetMember> scopes = {};
    // What a leader tells everybody, and how often that was set. 0: never.
    std::string value = {};
    std::uint64_t revision = 0;

    // Whether it is enough for work that needs a lock on `other`: one of its locks covers it. A
    // shared lock is not enough to write.
    [[nodiscard]] bool covers(const LockScope& other, LockMode needed = LockMode::exclusive) const;
    // `nightly`, or `db-a, path:/x` if there are several.
    [[nodiscard]] std::string scopes_text() const;
    // By how much earlier a careful holder stops: five seconds, or a sixth of the ttl if that is
    // less. Clocks differ, and what is under way needs a moment to end.
    [[nodiscard]] std::chrono::milliseconds margin() const;
    // How long nobody else can have it, less the margin; never below zero.
    [[nodiscard]] std::chrono::milliseconds time_guaranteed() const;
    [[nodiscard]] bool is_guaranteed() const;
};

// How long a lease is, and how often it is renewed.
struct LeasePreset {
    std::chrono::milliseconds ttl;
    std::chrono::milliseconds every;
};

// Others get the lock quickly when the holder fails.
inline constexpr LeasePreset short_lease{std::chrono::seconds{10}, std::chrono::seconds{3}};
// Fewer renewals.
inline constexpr LeasePreset long_lease{std::chrono::seconds{60}, std::chrono::seconds{20}};
// Least likely to be interrupted.
inline constexpr LeasePreset batch_lease{std::chrono::seconds{300}, std::chrono::seconds{100}};

}  // namespace holdfast
