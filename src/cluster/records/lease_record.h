#pragma once

// A lease as etcd has it: compact JSON, under a key that has its fencing number.
//
//     {"id":"00f3...","name":"job","owner":"laptop1","ttl_us":30000000,"version":1,
//      "acquired_us":1768473000000000}
//
// Fields with their default value are left out. A text that is no UTF-8 cannot be a JSON string; it
// is written in hexadecimal digits, and its field is called `name_hex` instead of `name`.
//
// A lease on several scopes has the text of its set in `members`, and the kind `set`. Nodes of older
// versions would ignore `members`, and give the other scopes to somebody else; a kind that they do
// not know makes them refuse to lead.
//
// How much of its time is left is not written: after a change of leader every lease runs anew for
// its full time. Neither is the session: its leases are unbound then, as after a restart.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/values/changes.h"
#include "core/values/request.h"
#include "service/history/hold.h"
#include "service/ports/clock.h"

namespace holdfast::cluster {

// Everything that the next leader must know of a lease.
struct LeaseRecord {
    core::Token token;
    core::ScopeKind kind = core::ScopeKind::named;
    std::string name;
    std::uint64_t inode = 0;
    core::Range range;
    core::Door door{};
    std::string owner;
    core::Mode mode = core::Mode::exclusive;
    std::uint32_t permits = 1;
    bool is_in_grace = false;
    core::Duration ttl{0};
    core::Duration grace{0};
    core::Duration memory{0};
    std::uint64_t version = 0;
    service::WallTime acquired_at;
    std::string request_id;
    std::string metadata;
    std::string members;  // core::set_to_text(); empty: the lease has only its scope
    std::string value;
    std::uint64_t revision = 0;
    std::string waiter;
    // Only if there is a history: how long the holder waited, and core::Event::by of the grant. Nodes
    // of older versions do not know `granted_by`, and ignore it.
    core::Duration waited{0};
    std::string granted_by;

    bool operator==(const LeaseRecord&) const = default;
};

// The lease of `event`, as it is after the event. `epoch` is what the wall clock showed at the
// engine's time zero; `begin` is what the grant says of the hold.
[[nodiscard]] std::string to_record(const core::Event& event, service::WallTime epoch,
                                    const service::HoldBegin& begin = {});
[[nodiscard]] std::string to_text(const LeaseRecord& record);

// Reads what to_record() wrote. The error says what is wrong, and of which lease.
[[nodiscard]] base::Result<LeaseRecord> parse_lease(core::Fence fence, std::string_view text);

// The lease for a table that begins now, with its full time. The texts of the result are those of
// `record`. `members` is its set: core::parse_set(record.members).
[[nodiscard]] core::RestoreRequest to_request(const LeaseRecord& record,
                                              std::span<const core::SetMember> members,
                                              const service::Clock& clock);

}  // namespace holdfast::cluster
