#pragma once

#include <cstddef>
#include <vector>

#include "core/values/changes.h"

namespace holdfast::service {

// Drops those events that observers do not need to know the present state: renewals that a later
// event of the same lease follows, and waits and sessions that both begin and end in `changes`.
// What must be committed stays, and so does the order. What is left is no more than there are
// leases, waiters and sessions, and changes to be committed.
//
// Returns the new index of every event, and at last the new size: that of an event that was dropped
// is where the next one is that stayed.
std::vector<std::size_t> thin_out(core::Changes& changes);

}  // namespace holdfast::service
