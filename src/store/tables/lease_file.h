#pragma once

// LeaseFile: leases and fences in an SQLite file.
//
// A commit is one write to a journal beside the file. Leases that live long enough become rows of the
// file when the journal is folded (journal.h). Changes of a commit that cancel out are not written at
// all (service/commit_effect.h). After fold(), the file shows exactly what is committed, also to
// people who open it with sqlite3.
//
// Thread safety: none.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/values/request.h"
#include "service/commit_effect.h"
#include "service/ports/clock.h"
#include "service/store.h"
#include "store/data_file.h"
#include "store/journal/journal.h"
#include "store/sqlite.h"
#include "store/tables/fencing_numbers.h"
#include "store/tables/history_table.h"
#include "store/tables/starts.h"

namespace holdfast::store {

struct LeaseFileOptions {
    // How long a write waits for other programs that write.
    std::chrono::milliseconds busy_timeout{0};
    Journal::Limits journal;
};

class LeaseFile {
  public:
    using OnLease = std::function<bool(const core::RestoreRequest&)>;

    // Opens or makes the file. Fails, with a sentence for people, if another server has the file, or
    // if it is not ours, newer, damaged, or cannot be written; then it is not changed. `clock` must
    // outlive this.
    [[nodiscard]] static base::Result<LeaseFile> open(const std::string& path,
                                                      const service::Clock& clock,
                                                      const LeaseFileOptions& options);

    // Begins again from what the file says: writes a start of the server at `now` into it, and visits
    // every lease in the order of their numbers. Fails if the visitor refuses a lease. Only until it
    // has succeeded once does it wait for other programs that write: later the server has clients,
    // and they will ask again.
    [[nodiscard]] SqliteResult<service::Recovered> recover(const BootClock& now,
                                                           const OnLease& on_lease);

    // Makes a commit durable, all of it or nothing. REQUIRES: recover() has succeeded.
    [[nodiscard]] SqliteResult<void> write(const service::Commit& commit);

    // Whether the file lacks something that is committed, and whether that is more than it should
    // be.
    [[nodiscard]] bool has_unfolded() const {
        return journal_.has_unfolded() || (start_number_ > 0 && !journal_.is_known());
    }
    [[nodiscard]] bool is_journal_long() const { return journal_.is_long(); }
    // Folds the journal, so that the file has everything. Does not wait for other programs that
    // write. If this fails, nothing is lost, and it may be tried again.
    [[nodiscard]] SqliteResult<void> fold();

    // Removes rows of the history that are too old or too many: a few thousand at most. True if
    // there may be more (HistoryTrim). Does not wait for other programs that write.
    [[nodiscard]] SqliteResult<bool> trim_history();
    // Whether the journal has rows of the history that the file lacks, or may have some: after a
    // failure its memory is gone until fold() or write() has read the file again.
    [[nodiscard]] bool has_unfolded_holds() const {
        return journal_.hold_count() > 0 || (start_number_ > 0 && !journal_.is_known());
    }
    // How many rows the history has.
    [[nodiscard]] std::size_t history_rows() const {
        return history_.rows(trim_.holes()) + journal_.hold_count();
    }

    // Folds and removes the journal, so that the file of a stopped server is all there is. If this
    // fails, nothing is lost: the next recover() does it.
    void tidy_up();

  private:
    LeaseFile(DataLock lock, Database database, Journal journal, const service::Clock& clock,
              const LeaseFileOptions& options);

    SqliteResult<service::Recovered> recover_all(const BootClock& now, const OnLease& on_lease);
    SqliteResult<std::vector<Start>> read_starts();
    void look_at_history();
    SqliteResult<std::vector<Start>> add_start(const BootClock& now);
    SqliteResult<service::Recovered> visit(const LeaseAges& ages, std::int64_t present,
                                           const OnLease& on_lease);

    DataLock data_lock_;
    Database database_;
    Journal journal_;
    const service::Clock* clock_;
    std::chrono::milliseconds busy_timeout_;
    service::HistoryLimits history_limits_;
    service::CommitEffect effect_;  // of the commit being written
    HistoryExtent history_;         // when the file was written last
    HistoryTrim trim_;

    bool has_recovered_ = false;     // at least once
    std::int64_t start_number_ = 0;  // 0: recover() has not succeeded
    std::int64_t oldest_start_ = 0;  // that a lease of the last recovery belongs to
};

}  // namespace holdfast::store
