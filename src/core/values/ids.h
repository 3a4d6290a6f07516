#pragma once

// The names by which the engine and its callers speak of leases, waiters and sessions.

#include <compare>
#include <cstdint>
#include <string_view>

namespace holdfast::core {

// The number of a grant: strictly increasing over the whole server, for ever. A resource that
// refuses numbers smaller than the largest it has seen cannot be harmed by a holder that lost its
// lease.
enum class Fence : std::uint64_t {};

[[nodiscard]] constexpr std::uint64_t as_number(Fence fence) {
    return static_cast<std::uint64_t>(fence);
}

// Fencing numbers travel as JSON numbers, which are exact only below 2^53.
inline constexpr Fence fence_max{(std::uint64_t{1} << 53) - 1};

// The unguessable half of a token: 64 random bits that came in with the request.
enum class Secret : std::uint64_t {};

// What proves a hold. Whoever shows both halves speaks for the lease.
struct Token {
    Fence fence{};
    Secret secret{};

    bool operator==(const Token&) const = default;
};

// A queued request. Serial numbers are never reused, so a stale id names nobody.
struct WaiterId {
    std::uint64_t serial = 0;
    std::uint32_t slot = 0;

    bool operator==(const WaiterId&) const = default;
    explicit operator bool() const { return serial != 0; }
};

// Something that can end as a whole (a connection, a login) and takes its leases and waiters with
// it. The default value means "no session".
struct SessionId {
    std::uint64_t serial = 0;
    std::uint32_t slot = 0;

    bool operator==(const SessionId&) const = default;
    explicit operator bool() const { return serial != 0; }
};

// The door a request came through. The engine only compares doors; who they are is the service's
// affair.
enum class Door : std::uint8_t {};

// Who asks: a name, and the door it came through. The same name at two doors is two owners.
struct Owner {
    Door door{};
    std::string_view name;

    bool operator==(const Owner&) const = default;
};

}  // namespace holdfast::core
