#pragma once

// The table `history`: one row for each hold that has ended (service/history/hold.h), and the table
// `waits`: how long the holders of leases waited that had to.
//
// Rows are numbered in the order of the ends. The oldest are removed, so their numbers have no gaps
// but for those that a clock that was set leaves. There is no index: a fold appends rows at the end of
// the table, which takes a third of the time that it takes with an index on the name; a query reads
// backwards from the end until its page is full (docs/decisions/0039).
//
// No number is used twice: readers remember where their last page ended. If the newest row is
// removed, `waits` has its number in the row of the fencing number 0, which no lease has.
//
// Thread safety: none. The database must outlive all of this.

#include <algorithm>
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

    // `holes`: numbers between the two without a row.
    [[nodiscard]] std::size_t rows(std::int64_t holes = 0) const {
        if (oldest == 0) return 0;
        return static_cast<std::size_t>(std::max(newest - oldest + 1 - holes, std::int64_t{1}));
    }
};
[[nodiscard]] SqliteResult<HistoryExtent> read_history_extent(Database& database);

// HistoryTrim: removes rows that are too old, or too many.
//
// It works in passes of several steps. A pass begins at the oldest row and ends at the first one that
// has to stay. Rows from the future (the clock was ahead for a while when they were written, or is
// behind now) have to stay, too, but the pass goes on behind them: otherwise one such row would keep
// all the rows behind it from being removed.
class HistoryTrim {
  public:
    // The next step: looks at `rows_max` numbers. True if the pass is not over. REQUIRES: a transaction
    // is open; if it is rolled back, the caller calls begin_again().
    [[nodiscard]] SqliteResult<bool> step(Database& database, const service::HistoryLimits& limits,
                                          service::WallTime now, std::size_t rows_max);
    void begin_again() { next_ = left_behind_ = 0; }
    // How many numbers the last pass has found without a row, between the oldest row and the newest.
    [[nodiscard]] std::int64_t holes() const { return holes_; }

  private:
    std::int64_t next_ = 0;         // the number with which the next step begins
    std::int64_t left_behind_ = 0;  // rows from the future that this pass has seen
    std::int64_t holes_ = 0;
};

// Reads a page. Rows that no server can have written are left out.
[[nodiscard]] SqliteResult<service::HistoryPage> read_history(Database& database,
                                                              const service::HistoryQuery& query);

}  // namespace holdfast::store
