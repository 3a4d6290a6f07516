#pragma once

#include "store/sqlite.h"

namespace holdfast::store {

// Brings all that the journal of a file says into its other tables, and empties it: `locks` then
// has all leases, and `tokens` the largest number. Part of whatever transaction there is. Fails,
// with a sentence for people, for a journal that nobody here can have written.
//
// Entries that were settled already (journal.h) do no harm. The journal always is what was said
// from some moment on, and its last word on a lease says all there is to say of it; a number is
// never given out again once its lease has ended.
[[nodiscard]] SqliteResult<void> fold_journal(Database& database);

}  // namespace holdfast::store
