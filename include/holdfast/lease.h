#pragma once

// The request for a lease, and the lease: the same for the engine inside a program (LockManager) and
// for a server (Client).

#include <chrono>
#include <cstdint>
#include <string>

#include "holdfast/boot_clock.h"
#include "holdfast/export.h"
#include "holdfast/lock_scope.h"

namespace holdfast {

// Asks for a lease.
struct LeaseRequest {
    LockScope scope;
    std::string owner;                      // empty: this host, process and client (or manager)
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
};

// Lease: the right to hold a lock until a deadline. A value: nobody renews it but you; see LeaseGuard
// for one that renews itself.
struct HOLDFAST_API Lease {
    LockScope scope;
    std::string owner;
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
