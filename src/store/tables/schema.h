#pragma once

// The tables of holdfast.db, and how older files become newer ones.
//
//     locks           one row for each lease; the columns that people look for come first
//     tokens          one row, `*`: the largest fencing number given out
//     fences          the largest fencing number that each outside resource has seen
//     starts          the starts of the server, from the oldest that a lease belongs to (starts.h)
//     history         one row for each hold that has ended (history_table.h)
//     waits           how long the holders of leases waited, if they had to
//     journal_file    one row: what is known of the journal beside the file (journal/fold.h)
//     lock_state      a view, for people: all leases in the file that have not ended; names that are
//                     not text are shown as x'hex'
//     journal, journal_leases
//                     the journal of older versions, and a view that reads it (journal/old_rows.h)
//
// The newest commits are in the journal beside the file. They come into these tables a moment later.

#include <cstdint>

#include "store/sqlite.h"

namespace holdfast::store {

// The newest version of the file.
[[nodiscard]] std::uint32_t schema_version();

// Creates our tables in an empty file, or brings a file of an older version to this one. (Tests ask
// for older versions, too.) Fails if the file is newer or damaged.
[[nodiscard]] SqliteResult<void> prepare_schema(Database& database,
                                                std::uint32_t version = schema_version());

}  // namespace holdfast::store
