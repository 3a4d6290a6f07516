#pragma once

// LeaseFile: leases in a SQLite file, written down as they change, and fences beside them.
//
// A commit is one transaction with one fsync. What it says of leases is appended to a journal and
// becomes rows later, if it is still so then (journal.h); what cancels out within a batch is not
// written at all. The file always shows what is committed, to us and to whoever opens it with
// sqlite3.
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
#include "store/data_lock.h"
#include "store/journal/journal.h"
#include "store/sqlite.h"
#include "store/tables/fence_table.h"
#include "store/tables/starts.h"

namespace holdfast::store {

struct LeaseFileOptions {
    // Writing waits so long for other writers.
    std::chrono::milliseconds busy_timeout{0};
    // How many changes the journal is to hold.
    std::size_t journal_changes_max = 0;
};

class LeaseFile {
  public:
    using OnLease = std::function<bool(const core::RestoreRequest&)>;

    // Opens or makes the file. Fails with a sentence for people when another server has it, when it
    // is not ours, newer, damaged, or cannot be written; it is left alone then. `clock` outlives
    // this.
    [[nodiscard]] static base::Result<LeaseFile> open(const std::string& path,
                                                      const service::Clock& clock,
                                                      const LeaseFileOptions& options);

    // Forgets all it knows, notes a start of the server at `now`, and visits every lease in the
    // file in the order of their numbers. Fails when the visitor refuses one. Once it has
    // succeeded, it does not wait for other writers any more: somebody is being served meanwhile,
    // and will ask again.
    [[nodiscard]] SqliteResult<service::Recovered> recover(const BootClock& now,
                                                           const OnLease& on_lease);

    // Makes it durable, all or nothing. REQUIRES: recover() has succeeded.
    [[nodiscard]] SqliteResult<void> write(const service::Commit& commit);

    // Leaves all leases behind as rows, for whoever looks into the file of a server that is not
    // running. Nothing is lost when that fails: the next recover() does it.
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
    SqliteResult<std::vector<Start>> note_start(const BootClock& now);
    SqliteResult<service::Recovered> visit(const LeaseAges& ages, std::int64_t present,
                                           const OnLease& on_lease);

    DataLock data_lock_;
    Database database_;
    Tables tables_;
    const service::Clock* clock_;
    std::chrono::milliseconds busy_timeout_;
    service::CommitEffect effect_;  // of the commit being written

    bool has_recovered_ = false;     // ever
    std::int64_t start_number_ = 0;  // 0: recover() has not succeeded
    std::int64_t oldest_start_ = 0;  // of the leases last visited
};

}  // namespace holdfast::store
