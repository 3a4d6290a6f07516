#pragma once

// LeaseFile: leases in a SQLite file, written down as they change, and fences beside them.
//
// A commit is one transaction with one fsync, which writes a row for every lease that is new or
// kept on other terms, and removes those of the leases that have ended (docs/decisions/0006). What
// cancels out within a batch is not written at all. The file always shows what is committed, to us
// and to whoever opens it with sqlite3.
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
#include "store/fence_table.h"
#include "store/lease_row.h"
#include "store/sqlite.h"
#include "store/starts.h"

namespace holdfast::store {

class LeaseFile {
  public:
    using OnLease = std::function<bool(const core::RestoreRequest&)>;

    // Opens or makes the file. Fails with a sentence for people when another server has it, when it
    // is not ours, newer, damaged, or cannot be written; it is left alone then. Writing waits
    // `busy_timeout` for other writers. `clock` outlives this.
    [[nodiscard]] static base::Result<LeaseFile> open(const std::string& path,
                                                      const service::Clock& clock,
                                                      std::chrono::milliseconds busy_timeout);

    // Forgets all it knows, notes a start of the server at `now`, and visits every lease in the
    // file in the order of their numbers. Fails when the visitor refuses one. Once it has
    // succeeded, it does not wait for other writers any more: somebody is being served meanwhile,
    // and will ask again.
    [[nodiscard]] SqliteResult<service::Recovered> recover(const BootClock& now,
                                                           const OnLease& on_lease);

    // Makes it durable, all or nothing. REQUIRES: recover() has succeeded.
    [[nodiscard]] SqliteResult<void> write(const service::Commit& commit);

  private:
    struct Statements {
        Statement put, drop, keep_token;
        FenceTable fences;
    };
    // What a batch does to a lease in the end.
    struct NetChange {
        bool is_new = false;          // granted in this batch
        std::optional<LeaseRow> row;  // none: it has ended
    };
    struct NetChanges {
        std::map<std::uint64_t, NetChange> leases;  // by fencing number, as the rows lie
        std::uint64_t last_token = 0;
    };

    LeaseFile(DataLock lock, Database database, Statements statements, const service::Clock& clock,
              std::chrono::milliseconds busy_timeout);
    static SqliteResult<Statements> prepare_statements(Database& database);

    [[nodiscard]] NetChanges net_changes(const core::Changes& changes) const;
    SqliteResult<void> write_lease(std::uint64_t fence, const NetChange& change);

    SqliteResult<std::vector<Start>> note_start(const BootClock& now);
    SqliteResult<service::Recovered> visit(const LeaseAges& ages, const OnLease& on_lease);

    DataLock data_lock_;
    Database database_;
    Statements statements_;
    const service::Clock* clock_;
    std::chrono::milliseconds busy_timeout_;

    bool has_recovered_ = false;     // ever
    std::int64_t start_number_ = 0;  // 0: recover() has not succeeded
    std::int64_t oldest_start_ = 0;  // of the leases last visited
    std::uint64_t last_token_ = 0;
};

}  // namespace holdfast::store
