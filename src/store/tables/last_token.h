#pragma once

#include <cstdint>

#include "store/sqlite.h"

namespace holdfast::store {

// The largest fencing number that the tables `tokens` and `journal` of a file say was given out.
// Fails, with a sentence for people, if one of their numbers is none that a server can have written
// (below 0, above core::fence_max, no whole number), or if `tokens` is empty: new numbers would
// then not be written down anywhere.
[[nodiscard]] SqliteResult<std::uint64_t> read_last_token(Database& database);

// Fails if no number is left above `last_token`.
[[nodiscard]] SqliteResult<void> check_not_used_up(std::uint64_t last_token);

}  // namespace holdfast::store
