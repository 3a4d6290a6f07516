#pragma once

// The small values of the engine: its time, and the names by which the engine and its callers speak
// of leases, waiters, sessions and owners.

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::core {

// ---- Time ----
//
// The engine never asks what time it is: every call brings the time along. It is a monotonic time
// with an arbitrary start, so a step of the wall clock can neither shorten nor lengthen a lease. The
// service translates it for people.

// The clock that engine times belong to. On purpose it has no now().
struct EngineClock {
    using rep = std::int64_t;
    using period = std::micro;
    using duration = std::chrono::duration<rep, period>;
    using time_point = std::chrono::time_point<EngineClock>;
    static constexpr bool is_steady = true;
};

using Duration = EngineClock::duration;
using Time = EngineClock::time_point;

// a + b, or the last representable moment when that lies beyond it, or when b is the longest
// duration: that one stands for "without an end". REQUIRES: b >= 0.
[[nodiscard]] constexpr Time add_saturating(Time a, Duration b) {
    return b == Duration::max() || a > Time::max() - b ? Time::max() : a + b;
}

// ---- Names ----

// The fencing number of a grant. It grows with every grant of the whole server, for ever. A
// resource that refuses numbers smaller than the largest it has seen cannot be harmed by a holder
// that has lost its lease.
enum class Fence : std::uint64_t {};

[[nodiscard]] constexpr std::uint64_t as_number(Fence fence) {
    return static_cast<std::uint64_t>(fence);
}

// Fencing numbers travel as JSON numbers, which are exact only below 2^53.
inline constexpr Fence fence_max{(std::uint64_t{1} << 53) - 1};

// The secret half of a token: 64 random bits that came in with the request.
enum class Secret : std::uint64_t {};

// The proof that a client holds a lease: both halves together.
struct Token {
    Fence fence{};
    Secret secret{};

    bool operator==(const Token&) const = default;
};

// A queued request. Serial numbers are never reused, so the id of a waiter that is gone names no
// other.
struct WaiterId {
    std::uint64_t serial = 0;
    std::uint32_t slot = 0;

    bool operator==(const WaiterId&) const = default;
    explicit operator bool() const { return serial != 0; }
};

// A connection or a login. Its leases and waiters end together with it. The default value means "no
// session".
struct SessionId {
    std::uint64_t serial = 0;
    std::uint32_t slot = 0;

    bool operator==(const SessionId&) const = default;
    explicit operator bool() const { return serial != 0; }
};

// The door that a request came through. The engine only compares doors; the service knows their
// names.
enum class Door : std::uint8_t {};

// The name that a client gives itself, and its door. The same name at two doors is two owners.
struct Owner {
    Door door{};
    std::string_view name;

    bool operator==(const Owner&) const = default;
};

// A token as text, in the form that most doors and the embedded engine use: 32 lower-case
// hexadecimal digits, first the fencing number, then the secret. So tokens sort by age. A token has
// exactly one text, so texts may be compared.

void append_token(std::string& out, const Token& token);

// The token that append_token() wrote; nothing for any other text.
[[nodiscard]] std::optional<Token> parse_token(std::string_view text);

}  // namespace holdfast::core
