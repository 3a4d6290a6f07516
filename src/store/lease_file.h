#pragma once

// LeaseFile: leases in a SQLite file, written down as they change.
//
// A commit is one row of the journal table, in one transaction, with one fsync, however many
// changes are in it and however many leases there are (docs/decisions/0006). Between commits the
// journal is folded into the lock table; leases that have come and gone by then cost nothing. The
// view lock_state shows both together, so whoever opens the file with sqlite3 sees the truth at any
// time.
//
// What is known of the journal in memory (unfolded_) changes only after the file has: a failed
// commit or fold leaves both as they were.
//
// Thread safety: none.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/changes.h"
#include "core/request.h"
#include "service/clock.h"
#include "service/store.h"
#include "store/data_lock.h"
#include "store/lease_row.h"
#include "store/sqlite.h"
#include "store/starts.h"

namespace holdfast::store {

class LeaseFile {
  public:
    using OnLease = std::function<bool(const core::RestoreRequest&)>;

    // Opens or makes the file. Fails with a sentence for people when another server has it, when it
    // is not ours, newer, damaged, or cannot be written; it is left alone then. Later statements
    // wait `busy_timeout` for other writers. `clock` outlives this.
    [[nodiscard]] static base::Result<LeaseFile> open(const std::string& path,
                                                      const service::Clock& clock,
                                                      std::chrono::milliseconds busy_timeout);

    // Forgets all it knows, notes a start of the server at `now`, and visits every lease in the
    // file in the order of their numbers. Fails when the visitor refuses one.
    [[nodiscard]] SqliteResult<service::Recovered> recover(const BootClock& now,
                                                           const OnLease& on_lease);

    // Makes `changes` durable, all or none. REQUIRES: recover() has succeeded.
    [[nodiscard]] SqliteResult<void> write(const core::Changes& changes);

    // How much there is to fold; 0: nothing.
    [[nodiscard]] std::size_t journal_bytes() const { return journal_bytes_; }
    // Folds at least rows_max rows, if there are so many; with the last ones the journal is
    // emptied.
    [[nodiscard]] SqliteResult<void> fold(std::size_t rows_max);

  private:
    struct Statements {
        Statement append, put, drop, keep_token, clear_journal;
    };
    // What a batch does to a lease in the end.
    struct NetChange {
        bool is_new = false;          // granted in this batch
        std::optional<LeaseRow> row;  // none: it has ended
    };
    struct NetChanges {
        std::map<std::uint64_t, NetChange> leases;
        std::uint64_t last_token = 0;
    };
    // A lease whose row in the lock table is not what the journal says.
    struct Unfolded {
        std::optional<LeaseRow> row;  // none: it has ended
        bool may_be_in_table = true;  // an older row of it
    };

    LeaseFile(DataLock lock, Database database, Statements statements, const service::Clock& clock);
    static SqliteResult<Statements> prepare_statements(Database& database);

    [[nodiscard]] NetChanges net_changes(const core::Changes& changes) const;
    SqliteResult<void> append(const std::string& entries, std::uint64_t last_token);
    void remember(NetChanges&& changes);
    SqliteResult<void> fold_lease(std::uint64_t fence, Unfolded& lease);
    SqliteResult<void> set_durable(bool is_durable);

    SqliteResult<void> fold_by_sql();
    SqliteResult<std::vector<Start>> note_start(const BootClock& now);
    SqliteResult<service::Recovered> visit(const LeaseAges& ages, const OnLease& on_lease);
    [[nodiscard]] core::RestoreRequest to_request(const LeaseRow& row, const LeaseAges& ages) const;

    DataLock data_lock_;
    Database database_;
    Statements statements_;
    const service::Clock* clock_;

    bool is_durable_ = true;         // whether a transaction ends with an fsync
    std::int64_t start_number_ = 0;  // 0: recover() has not succeeded
    std::int64_t oldest_start_ = 0;  // of the leases last visited
    std::uint64_t last_token_ = 0;
    std::map<std::uint64_t, Unfolded> unfolded_;
    std::size_t journal_bytes_ = 0;
};

}  // namespace holdfast::store
