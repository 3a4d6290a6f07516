#pragma once

// The fencing numbers of a file: the largest one given out (tables `tokens` and `journal`), and the
// largest one that each outside resource has seen (table `fences`).

#include <cstdint>
#include <vector>

#include "service/books/fence.h"
#include "store/sqlite.h"

namespace holdfast::store {

// The largest fencing number given out. Fails, with a sentence for people, if the tables have a
// number that no server can have written (below 0, above core::fence_max, not an integer), or if
// `tokens` is empty: then there would be no place for new numbers.
[[nodiscard]] SqliteResult<std::uint64_t> read_last_token(Database& database);

// Fails if no number is left above `last_token`.
[[nodiscard]] SqliteResult<void> check_not_used_up(std::uint64_t last_token);

// FenceTable: the largest number that each outside resource has seen.
//
// Thread safety: none. The database must outlive this.
class FenceTable {
  public:
    // REQUIRES: the database has our tables.
    [[nodiscard]] static SqliteResult<FenceTable> prepare(Database& database);

    // Writes every mark; a mark of zero removes its resource. Becomes part of the transaction that is
    // open.
    [[nodiscard]] SqliteResult<void> write(const std::vector<service::FenceMark>& marks);

    // All marks. Fails if there is one that no server can have written.
    [[nodiscard]] static SqliteResult<std::vector<service::FenceMark>> read(Database& database);

  private:
    FenceTable(Statement put, Statement drop);

    Statement put_, drop_;
};

}  // namespace holdfast::store
