#pragma once

// How a LeaseRequest is read, by an engine and by the client of a server alike.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/lease.h"
#include "holdfast/lock_error.h"

namespace holdfast::values {

// A holder that nobody else is: this host, this process, and random digits.
[[nodiscard]] std::string make_holder();

// A name for this thread of this process, which no other thread has: whose wait it is, unless the
// program names somebody.
[[nodiscard]] const std::string& waiter_of_this_thread();

// What is asked for: one lock, or several. A name with a limit above 1 is a semaphore.
[[nodiscard]] std::vector<LockSetMember> members_of(const LeaseRequest& request);

// A lease of which nothing is known but the token: without a ttl, not guaranteed.
[[nodiscard]] Lease lease_of_token(std::string_view token);

// An error for a request that makes no sense, whoever is asked.
[[nodiscard]] std::optional<LockError> find_fault(const LeaseRequest& request);

}  // namespace holdfast::values
