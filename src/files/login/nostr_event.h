#pragma once

// Signed events of Nostr (NIP-01), and logging in with one (NIP-98).
//
// An event is a JSON object with the author's public key, a time, a kind, tags and a text; its id
// is the SHA-256 of these in one canonical form, and its signature (BIP 340) is of that id. An
// event of kind 27235 says: the author makes this request, now.
//
// Thread safety: all functions may be called from any thread.

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "service/ports/clock.h"

namespace holdfast::files {

struct NostrEvent {
    std::string id;          // 64 digits
    std::string public_key;  // 64 digits
    std::int64_t created_s = 0;
    std::int64_t kind = 0;
    std::vector<std::vector<std::string>> tags;
    std::string content;
    std::string signature;  // 128 digits
};

inline constexpr std::int64_t nostr_auth_kind = 27235;
// How far the time of an event may lie behind or ahead of the server's clock.
inline constexpr std::chrono::seconds nostr_window{60};

enum class NostrFault : std::uint8_t {
    invalid_event,       // no event, or its id is not that of its content
    invalid_auth_event,  // not for this request, or not for this time
    invalid_signature,
    unauthorized,  // somebody else's
};

// What the protocol calls it: `Invalid Nostr event`, `Invalid auth event`, `Invalid signature`,
// `Unauthorized`.
[[nodiscard]] std::string_view to_text(NostrFault fault);

struct NostrRefusal {
    NostrFault fault;
    std::string message;  // a sentence that says more
};

template <class T>
using NostrResult = tl::expected<T, NostrRefusal>;

// What an event must fit.
struct NostrRequest {
    // The addresses of this request, each in the one spelling that is accepted. The tag `u` must be
    // one of them. The caller must not build them from what the client has sent.
    std::span<const std::string> urls;
    std::string_view method;                  // of the request
    std::span<const std::string> owner_keys;  // 64 lower-case digits each
    service::WallTime now;
};

// The event in `json`, if it is one by its owner for this request and this time. Whether it has
// been used before is not known here: see UsedEvents.
[[nodiscard]] NostrResult<NostrEvent> verify_nostr_event(std::string_view json,
                                                         const NostrRequest& request);

// The text whose hash is the id: `[0,<pubkey>,<created_at>,<kind>,<tags>,<content>]` without
// spaces, and with no other escapes than NIP-01 names.
[[nodiscard]] std::string canonical_text(const NostrEvent& event);

// Whether `signature` (128 digits) is that of the key (64 digits) for 32 bytes (64 digits). Digits
// that are none, or name no key, make it false.
struct SchnorrClaim {
    std::string_view public_key;
    std::string_view message;
    std::string_view signature;
};
[[nodiscard]] bool is_signed(const SchnorrClaim& claim);

// Whether `text` is a public key in the form that events have.
[[nodiscard]] bool is_public_key(std::string_view text);

}  // namespace holdfast::files
