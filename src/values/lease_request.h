#pragma once

// How a LeaseRequest is read, by an engine and by the client of a server alike.

#include <optional>
#include <string>

#include "holdfast/lease.h"
#include "holdfast/lock_error.h"

namespace holdfast::values {

// An owner that nobody else has: this host, this process, and random digits.
[[nodiscard]] std::string make_owner();

// What is asked for: a name with a limit above 1 is a semaphore.
[[nodiscard]] LockScope scope_of(const LeaseRequest& request);

// An error for a request that makes no sense, whoever is asked.
[[nodiscard]] std::optional<LockError> find_fault(const LeaseRequest& request);

}  // namespace holdfast::values
