#pragma once

// The request for a lock of a LockManager, and the lock.

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "holdfast/export.h"
#include "holdfast/lock_scope.h"

namespace holdfast {

// Shared holders coexist; an exclusive one is alone.
enum class LockMode : std::uint8_t { exclusive, shared };

// LockToken: the proof that somebody holds a lock. Secret.
//
// Half of it is the fencing number of the grant, the other half is random. Later grants have larger
// tokens, as numbers and as texts.
struct HOLDFAST_API LockToken {
    std::uint64_t fencing_number = 0;
    std::uint64_t secret = 0;

    // 32 hexadecimal digits.
    [[nodiscard]] std::string to_text() const;
    // Reads such a text; nothing for any other.
    [[nodiscard]] static std::optional<LockToken> parse(std::string_view text);

    auto operator<=>(const LockToken&) const = default;
};

// Asks for a lock.
struct LockRequest {
    LockScope scope;
    std::string holder;                          // a name for people, and for limits
    std::chrono::milliseconds duration{30'000};  // of the lease, unless it is renewed
    LockMode mode = LockMode::exclusive;
};

// A lock as it stood when it was asked for.
struct Lock {
    LockScope scope;
    std::string holder;
    LockMode mode = LockMode::exclusive;
    // By the wall clock, for people only.
    std::chrono::system_clock::time_point acquired_at;
    std::chrono::system_clock::time_point expires_at;
    LockToken token;
    // Grows with every grant. Storage that refuses numbers smaller than the largest it has seen
    // cannot be harmed by a holder that was too slow.
    std::uint64_t fencing_token = 0;
    std::chrono::milliseconds duration{0};
    // When it expires, by the clock that decides and that nobody can set.
    std::chrono::steady_clock::time_point deadline;
};

// How long a lease is, and how often it is renewed.
struct LeasePreset {
    std::chrono::milliseconds duration;
    std::chrono::milliseconds renew_every;
};

// Others get the lock quickly when the holder fails.
inline constexpr LeasePreset short_lease{std::chrono::seconds{10}, std::chrono::seconds{3}};
// Fewer renewals.
inline constexpr LeasePreset long_lease{std::chrono::seconds{60}, std::chrono::seconds{20}};
// Least likely to be interrupted.
inline constexpr LeasePreset batch_lease{std::chrono::seconds{300}, std::chrono::seconds{100}};

}  // namespace holdfast
