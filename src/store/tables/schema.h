#pragma once

// The tables of holdfast.db, and how older files become newer ones.
//
//     locks           one row a lease; the first columns are what people look for
//     journal         what later commits say of leases and `locks` does not yet (journal_text.h)
//     tokens          the largest fencing number given out, but for those the journal knows of: of
//                     all locks (`*`), which share one counter
//     fences          the largest fencing number that each outside resource has seen
//     starts          when the server was started, for the leases it found
//     journal_leases  a view: the journal's last word on each lease it speaks of
//     lock_state      a view, for people: the leases that have not ended, whether in `locks` or in
//                     the journal, with names that are no text shown as x'hex'

#include <cstdint>

#include "store/sqlite.h"

namespace holdfast::store {

// The newest version of the file.
[[nodiscard]] std::uint32_t schema_version();

// Makes an empty file ours, or brings one of ours to this version (tests make older ones, too).
// Fails for a newer or a damaged one.
[[nodiscard]] SqliteResult<void> prepare_schema(Database& database,
                                                std::uint32_t version = schema_version());

}  // namespace holdfast::store
