#pragma once

// The request for a lease of a Holdfast server, and the lease.

#include <chrono>
#include <cstdint>
#include <string>

#include "holdfast/boot_clock.h"
#include "holdfast/export.h"
#include "holdfast/lock.h"
#include "holdfast/lock_scope.h"

namespace holdfast {

// Asks for a lease.
struct LeaseRequest {
    LockScope scope;
    std::string owner;                      // empty: this host, process and client
    std::chrono::milliseconds ttl{30'000};  // how long it lasts, unless it is renewed
    LockMode mode = LockMode::exclusive;
    // Above 1: the name is a semaphore, which has this many holders at most at the same time.
    std::uint64_t limit = 1;
    std::string metadata;  // shown with the lease
    // Requests with the same id have the effect of one. Empty: the client makes an id.
    std::string request_id;
};

// Lease: the right to hold a lock of a server until a deadline. A value: nobody renews it but you; see
// LeaseGuard for one that renews itself.
struct HOLDFAST_API Lease {
    LockScope scope;
    std::string owner;
    LockMode mode = LockMode::exclusive;
    std::uint64_t limit = 1;
    // 32 hexadecimal digits. Secret: it proves that a client holds the lease.
    std::string token;
    // Grows with every grant. Storage that refuses numbers smaller than the largest it has seen
    // cannot be harmed by a holder that was too slow.
    std::uint64_t fencing_token = 0;
    std::chrono::milliseconds ttl{0};
    std::string metadata;
    // By the server's clock, for people only.
    std::chrono::system_clock::time_point acquired_at;
    std::chrono::system_clock::time_point expires_at;
    // By this machine's clock, counted from before the request was sent: the server ends the lease
    // no earlier. Long ago, if all that is known of the lease is its token.
    BootClock::time_point lasts_until;

    // By how much earlier a careful holder stops: five seconds, or a sixth of the ttl if that is
    // less. Clocks differ, and what is under way needs a moment to end.
    [[nodiscard]] std::chrono::milliseconds margin() const;
    // How long nobody else can have it, less the margin; never below zero.
    [[nodiscard]] std::chrono::milliseconds time_guaranteed() const;
    [[nodiscard]] bool is_guaranteed() const;
};

}  // namespace holdfast
