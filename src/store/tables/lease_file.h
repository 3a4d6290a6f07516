#pragma once

// LeaseFile: leases and fences in an SQLite file.
//
// A commit is one transaction with one fsync. Its leases are appended to a journal, and those that
// live long enough become rows later (journal.h). Changes of a commit that cancel out are not written
// at all (service/commit_effect.h). The file always shows exactly what is committed, also to people
// who open it with sqlite3.
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
#include "store/tables/starts.h"

namespace holdfast::store {

struct LeaseFileOptions {
    // How long a write waits for other programs that write.
    std::chrono::milliseconds busy_timeout{0};
    // How many changes the journal holds before its oldest part is folded.
    std::size_t journal_changes_max = 0;
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

    // Folds the journal, so that the file of a stopped server has all leases as rows. If this fails,
    // nothing is lost: the next recover() does it.
    void tidy_up();

  private:
    struct Tables {
        Journal journal;
        FenceTable fences;
    };

    LeaseFile(DataLock lock, Database database, Tables tables, const service::Clock& clock,
              std::chrono::milliseconds busy_timeout);

    SqliteResult<void> write_effect();

    SqliteResult<service::Recovered> recover_all(const BootClock& now, const OnLease& on_lease);
    SqliteResult<std::vector<Start>> read_starts();
    SqliteResult<std::vector<Start>> add_start(const BootClock& now);
    SqliteResult<service::Recovered> visit(const LeaseAges& ages, std::int64_t present,
                                           const OnLease& on_lease);

    DataLock data_lock_;
    Database database_;
    Tables tables_;
    const service::Clock* clock_;
    std::chrono::milliseconds busy_timeout_;
    service::CommitEffect effect_;  // of the commit being written

    bool has_recovered_ = false;     // at least once
    std::int64_t start_number_ = 0;  // 0: recover() has not succeeded
    std::int64_t oldest_start_ = 0;  // that a lease of the last recovery belongs to
};

}  // namespace holdfast::store
