#pragma once

// Leases in the JSON of /v1/leases.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/json_value.h"
#include "holdfast/lease.h"
#include "holdfast/lock_error.h"

namespace holdfast::sdk {

// Reads the scope in an answer.
[[nodiscard]] std::optional<LockScope> read_scope(const base::JsonValue& value);

// Reads a lease. The server does not know its limit, nor how long it lasts by our clock: the caller
// sets these.
[[nodiscard]] std::optional<Lease> read_lease(const base::JsonValue& value);

// The same in a list, where leases have no tokens, and perhaps no end.
[[nodiscard]] std::optional<Lease> read_listed_lease(const base::JsonValue& value);

// Reads a refusal, `LockHeld` or `WaitTimedOut`.
[[nodiscard]] LockHeld read_held(const base::JsonValue& value);

// Reads the refusal of a request that would be part of a deadlock; and the cycle of one.
[[nodiscard]] LockDeadlock read_deadlock(const base::JsonValue& value);
[[nodiscard]] std::vector<DeadlockMember> read_cycle(const base::JsonValue& cycle);

// The body of an acquire.
struct AcquireFields {
    const LeaseRequest& request;  // its holder and its waiter are not empty
    std::string_view request_id;
    std::chrono::milliseconds wait;
};
[[nodiscard]] std::string to_json(const AcquireFields& fields);

// An error for a text or a request that cannot be sent: texts must be UTF-8, for example.
[[nodiscard]] std::optional<LockError> find_fault(std::string_view text);
[[nodiscard]] std::optional<LockError> find_fault(const LeaseRequest& request);

}  // namespace holdfast::sdk
