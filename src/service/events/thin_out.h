#pragma once

#include "core/values/changes.h"

namespace holdfast::service {

// Drops those events that observers do not need to know the present state: renewals that a later
// event of the same lease follows, and waits and sessions that both begin and end in `changes`.
// What must be committed stays, and so does the order. What is left is no more than there are
// leases, waiters and sessions, and changes to be committed.
void thin_out(core::Changes& changes);

}  // namespace holdfast::service
