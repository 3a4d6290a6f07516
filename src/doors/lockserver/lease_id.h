#pragma once

// The lease_id of the LockServer door: a token, in the shape of a version 4 UUID.
//
// The original drew random UUIDs and looked them up. Ours hold what a lease is found by: five bits
// of the kind of scope, 53 of the fencing number and the 64 random bits that prove it, in the
// places a UUID has free. Whoever was not given one cannot make it up.

#include <optional>
#include <string>
#include <string_view>

#include "core/values/ids.h"
#include "core/values/scope.h"

namespace holdfast::doors::lockserver {

struct LeaseId {
    core::ScopeKind kind = core::ScopeKind::named;
    core::Token token;

    bool operator==(const LeaseId&) const = default;
};

// Appends 36 characters: `00000000-0000-4000-8000-000000000000`. REQUIRES: a fencing number that is
// no larger than core::fence_max.
void append_lease_id(std::string& out, const LeaseId& id);

// What append_lease_id() wrote; nothing for any other text.
[[nodiscard]] std::optional<LeaseId> parse_lease_id(std::string_view text);

}  // namespace holdfast::doors::lockserver
