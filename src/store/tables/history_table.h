#pragma once

// The table `history`: one row for each hold that has ended (service/history/hold.h), and the table
// `waits`: how long the holders of leases waited that had to.
//
// Rows are numbered in the order of the ends. The oldest are removed, so their numbers have no gaps
// but for those that a clock that was set leaves. There is no index: a fold appends rows at the end of
// the table, which takes a third of the time that it takes with an index on the name; a query reads
// backwards from the end until its page is full (docs/decisions/0039).
//
// Thread safety: none. The database must outlive all of this.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "service/history/hold.h"
#include "store/sqlite.h"
#include "store/tables/lease_row.h"

namespace holdfast::store {

// Adds rows. REQUIRES, for all functions: a transaction is open.
class HistoryWriter {
  public:
    struct End {
        std::int64_t number = 0;
        service::WallTime at;
        service::Ending ending = service::Ending::released;
        std::string_view by = {};
    };

    [[nodiscard]] static SqliteResult<HistoryWriter> prepare(Database& database);

    // The number of the next row.
    [[nodiscard]] SqliteResult<std::int64_t> next_number();
    // Adds the row of a lease; nothing if there is a row with this number.
    [[nodiscard]] SqliteResult<void> add(const LeaseRowView& lease, core::Duration waited,
                                         const End& end);
    // Adds the row of a lease in `locks`; nothing if there is no such lease.
    [[nodiscard]] SqliteResult<void> copy(std::uint64_t fence, const End& end);

    [[nodiscard]] SqliteResult<void> note_wait(std::uint64_t fence, core::Duration waited);
    [[nodiscard]] SqliteResult<void> forget_wait(std::uint64_t fence);

  private:
    HistoryWriter(Statement newest, Statement add, Statement copy, Statement note,
                  Statement forget);

    Statement newest_, add_, copy_, note_, forget_;
};

// What the table has.
struct HistoryExtent {
    std::int64_t oldest = 0;  // the number of the oldest row; 0: there is none
    std::int64_t newest = 0;

    [[nodiscard]] std::size_t rows() const {
        return oldest == 0 ? 0 : static_cast<std::size_t>(newest - oldest + 1);
    }
};
[[nodiscard]] SqliteResult<HistoryExtent> read_history_extent(Database& database);

// Removes rows that are too old at the time `now`, or too many: the oldest, at most `rows_max` of
// them. True if there may be more to remove.
[[nodiscard]] SqliteResult<bool> trim_history(Database& database,
                                              const service::HistoryLimits& limits,
                                              service::WallTime now, std::size_t rows_max);

// Reads a page. Rows that no server can have written are left out.
[[nodiscard]] SqliteResult<service::HistoryPage> read_history(Database& database,
                                                              const service::HistoryQuery& query);

}  // namespace holdfast::store
