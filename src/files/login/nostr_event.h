#pragma once

// Signed events of Nostr (NIP-01), and logging in with one (NIP-98).
//
// An event is a JSON object with the author's public key, a time, a kind, tags and a text; its id
// is the SHA-256 of these in a canonical form, and its signature (BIP 340) signs that id. An event
// of kind 27235 says that its author makes a certain request at a certain time.
//
// UsedEvents keeps an event from logging in twice.
//
// Thread safety: all functions may be called from any thread. UsedEvents::use() waits for the disk.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "files/disk/state_folder.h"
#include "files/login/permission.h"
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
// How far the time of an event may be behind or ahead of the server's clock.
inline constexpr std::chrono::seconds nostr_window{60};

enum class NostrFault : std::uint8_t {
    invalid_event,       // not an event
    invalid_auth_event,  // for another request or another time, or of an unknown scope
    invalid_signature,   // also if its id is not the hash of its content
    unauthorized,        // signed by somebody who is not an owner
};

// The word of the protocol: `Invalid Nostr event`, `Invalid auth event`, `Invalid signature`,
// `Unauthorized`.
[[nodiscard]] std::string_view to_text(NostrFault fault);

struct NostrRefusal {
    NostrFault fault;
    std::string message;  // a sentence that says more
};

template <class T>
using NostrResult = tl::expected<T, NostrRefusal>;

// The request that an event must be signed for.
struct NostrRequest {
    // The addresses of this request, each in the one spelling that is accepted. The tag `u` must be
    // one of them. The caller must not build them from what the client has sent.
    std::span<const std::string> urls;
    std::string_view method;                  // of the request
    std::span<const std::string> owner_keys;  // 64 lower-case digits each
    service::WallTime now;
};

// The event in `json`, if an owner has signed it for this request and this time. UsedEvents knows
// whether it was used before.
[[nodiscard]] NostrResult<NostrEvent> verify_nostr_event(std::string_view json,
                                                         const NostrRequest& request);

// What the author of a login asks for, with tags such as `["scope","read"]`. An event without such
// a tag asks for everything.
[[nodiscard]] NostrResult<Permission> permission_of(const NostrEvent& event);

// The name of the program that logs in, from the tag `["app","Notes"]`: at most app_name_bytes_max
// bytes of it (session_book.h), cut between two characters. Empty if there is no such tag.
[[nodiscard]] std::string app_name_of(const NostrEvent& event);

// The text whose hash is the id: `[0,<pubkey>,<created_at>,<kind>,<tags>,<content>]` without
// spaces, and with no other escapes than NIP-01 names.
[[nodiscard]] std::string canonical_text(const NostrEvent& event);

// Whether `signature` (128 digits) is the signature of 32 bytes (64 digits) by a key (64 digits).
// False for malformed digits, or if there is no such key.
struct SchnorrClaim {
    std::string_view public_key;
    std::string_view message;
    std::string_view signature;
};
[[nodiscard]] bool is_signed(const SchnorrClaim& claim);

// Whether `text` is a public key in the form that events have.
[[nodiscard]] bool is_public_key(std::string_view text);

// UsedEvents: makes sure that a signed event logs in only once.
//
// Somebody who sees an event could send it again while its time is within the window that
// verify_nostr_event() accepts. So the id of each event that has logged in is remembered for that
// long. It is remembered on disk: otherwise the event would be accepted again after a restart.
class UsedEvents {
  public:
    static constexpr std::size_t events_max_default = 10'000;

    // Reads the events that `folder` remembers; the folder outlives this.
    [[nodiscard]] static base::Result<std::unique_ptr<UsedEvents>> open(
        StateFolder& folder, std::size_t events_max = events_max_default);

    // Notes that the event was used; false if it was used before. Fails when more events of the
    // window were used than can be remembered, or when the disk fails: then the event must not be
    // accepted. REQUIRES: verify_nostr_event() has accepted it, so that strangers cannot fill the
    // memory.
    [[nodiscard]] base::Result<bool> use(const NostrEvent& event, service::WallTime now);

    [[nodiscard]] std::size_t size() const;

  private:
    UsedEvents(StateFolder& folder, base::Descriptor events, std::size_t events_max)
        : folder_(folder), events_(std::move(events)), events_max_(events_max) {}

    void forget_old(service::WallTime now);

    StateFolder& folder_;
    const base::Descriptor events_;
    const std::size_t events_max_;
    mutable std::mutex mutex_;
    std::map<std::string, std::int64_t> created_s_;  // by id
};

}  // namespace holdfast::files
