#pragma once

// Leases as /v1/leases writes them.

#include <optional>
#include <string>
#include <string_view>

#include "base/json/json_value.h"
#include "holdfast/lease.h"
#include "holdfast/lock_error.h"

namespace holdfast::sdk {

// The scope in its text form; with a limit above 1, that of the semaphore.
[[nodiscard]] std::string to_scope_text(const LockScope& scope, std::uint64_t limit);

// Reads the object that answers have. A semaphore is its name.
[[nodiscard]] std::optional<LockScope> read_scope(const base::JsonValue& value);

// Reads a lease, but for what the server does not know: its limit, and how long it lasts by our
// clock.
[[nodiscard]] std::optional<Lease> read_lease(const base::JsonValue& value);

// Reads a refusal, `LockHeld` or `WaitTimedOut`.
[[nodiscard]] LockHeld read_held(const base::JsonValue& value);

// The body of an acquire.
struct AcquireFields {
    const LeaseRequest& request;  // its owner is not empty
    std::string_view request_id;
    std::chrono::milliseconds wait;
};
[[nodiscard]] std::string to_json(const AcquireFields& fields);

// What is wrong with a request before it is sent, if anything: JSON carries UTF-8 only.
[[nodiscard]] std::optional<LockError> find_fault(const LeaseRequest& request);

}  // namespace holdfast::sdk
