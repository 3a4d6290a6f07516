#pragma once

#include <vector>

#include "service/books/fence.h"
#include "store/sqlite.h"

namespace holdfast::store {

// FenceTable: the numbers that outside resources have seen, in the same file as the leases.
//
// Thread safety: none. Outlived by its database.
class FenceTable {
  public:
    // REQUIRES: the database has our tables.
    [[nodiscard]] static SqliteResult<FenceTable> prepare(Database& database);

    // Writes every mark over what is there of its resource, or removes that. Part of whatever
    // transaction there is.
    [[nodiscard]] SqliteResult<void> write(const std::vector<service::FenceMark>& marks);

    // All that are there. Fails for one that nobody here can have written.
    [[nodiscard]] static SqliteResult<std::vector<service::FenceMark>> read(Database& database);

  private:
    FenceTable(Statement put, Statement drop);

    Statement put_, drop_;
};

}  // namespace holdfast::store
