#pragma once

// The tables of holdfast.db, and how older files become newer ones.
//
//     locks           one row for each lease; the columns that people look for come first
//     journal         the newest commits, whose leases are not in `locks` yet (journal_text.h)
//     tokens          one row, `*`: the largest fencing number given out, without those in `journal`
//     fences          the largest fencing number that each outside resource has seen
//     starts          the starts of the server, from the oldest that a lease belongs to (starts.h)
//     journal_leases  a view: the last change in the journal of each lease that it mentions
//     lock_state      a view, for people: all leases that have not ended, from `locks` and from
//                     `journal`; names that are not text are shown as x'hex'

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
