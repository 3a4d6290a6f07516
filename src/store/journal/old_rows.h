#pragma once

#include "store/sqlite.h"

namespace holdfast::store {

// Older versions had their journal in the database: rows of the table `journal`, with texts of JSON
// that the view `journal_leases` reads. A start moves everything that they say into the other tables,
// and empties the table. After that `locks` has all leases, and `tokens` has the largest fencing
// number.
//
// Becomes part of the transaction that is open. Fails, with a sentence for people, if the journal has
// content that no server can have written.
//
// The table may contain changes that were folded before: that does no harm. It always has all
// changes from some moment on, and the last change of a lease says everything about the lease. The
// fencing number of a lease that has ended is never given out again.
[[nodiscard]] SqliteResult<void> fold_old_rows(Database& database);

}  // namespace holdfast::store
