#pragma once

// The lease_id of the LockServer door: a token, in the shape of a version 4 UUID.
//
// The original made random UUIDs and looked them up. Ours contain what finds a lease: 5 bits for
// the kind of scope, 53 for the fencing number and the 64 random bits of the secret, in the bits
// that a UUID leaves free. A client that was not given a lease_id cannot guess it.

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

// Appends 36 characters: `00000000-0000-4000-8000-000000000000`. REQUIRES: the fencing number is
// not larger than core::fence_max.
void append_lease_id(std::string& out, const LeaseId& id);

// The lease id that append_lease_id() wrote; nothing for any other text.
[[nodiscard]] std::optional<LeaseId> parse_lease_id(std::string_view text);

}  // namespace holdfast::doors::lockserver
