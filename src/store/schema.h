#pragma once

// The tables of holdfast.db, and how older files become newer ones.
//
//     locks       one row a lease that has not ended; the first columns are what people look for
//     tokens      the largest fencing number given out: of all locks (`*`), which share one counter
//     fences      the largest fencing number that each outside resource has seen
//     starts      when the server was started, for the leases it found
//     lock_state  a view, for people: locks, with names that are no text shown as x'hex'

#include <cstdint>

#include "store/sqlite.h"

namespace holdfast::store {

// The version of the file that prepare_schema() makes.
[[nodiscard]] std::uint32_t schema_version();

// Makes an empty file ours, or brings one of ours to this version. Fails for a newer or a damaged
// one.
[[nodiscard]] SqliteResult<void> prepare_schema(Database& database);

}  // namespace holdfast::store
