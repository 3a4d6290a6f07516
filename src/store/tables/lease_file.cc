#include "store/tables/lease_file.h"

#include <utility>

#include "base/check.h"
#include "store/data_file.h"
#include "store/tables/schema.h"

namespace holdfast::store {

namespace {

// A write-ahead log that is copied into the file every 16 MiB. What is deleted is overwritten where
// a page is written anyway; Debian's SQLite would write every page that the journal leaves.
constexpr const char* settings =
    "PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536;"
    "PRAGMA wal_autocheckpoint=4000; PRAGMA secure_delete=FAST;";

SqliteResult<Database> open_database(const std::string& path,
                                     std::chrono::milliseconds busy_timeout) {
    TRY(auto database, Database::open(path));
    database.set_busy_timeout(busy_timeout);
    TRY(database.run(settings));
    TRY(prepare_schema(database));
    TRY(const auto mode, database.text("PRAGMA journal_mode=WAL"));
    if (mode != "wal") {
        return tl::unexpected(SqliteError{.message = "its file system cannot share memory"});
    }
    return database;
}

}  // namespace

base::Result<LeaseFile> LeaseFile::open(const std::string& path, const service::Clock& clock,
                                        const LeaseFileOptions& options) {
    const auto refuse = [&path](const auto& error) {
        return base::Error{"cannot use " + path + ": " + error.message};
    };
    TRY(make_folder_of(path).map_error(refuse));
    TRY(auto lock, DataLock::take(path).map_error(refuse));
    TRY(make_or_examine_file(path, schema_version()).map_error(refuse));
    TRY(auto database, open_database(path, options.busy_timeout).map_error(refuse));
    TRY(auto journal, Journal::prepare(database, options.journal_changes_max).map_error(refuse));
    TRY(auto fences, FenceTable::prepare(database).map_error(refuse));
    return LeaseFile(std::move(lock), std::move(database),
                     {.journal = std::move(journal), .fences = std::move(fences)}, clock,
                     options.busy_timeout);
}

LeaseFile::LeaseFile(DataLock lock, Database database, Tables tables, const service::Clock& clock,
                     std::chrono::milliseconds busy_timeout)
    : data_lock_(std::move(lock)),
      database_(std::move(database)),
      tables_(std::move(tables)),
      clock_(&clock),
      busy_timeout_(busy_timeout) {}

SqliteResult<void> LeaseFile::write(const service::Commit& commit) {
    CHECK(start_number_ > 0);
    effect_.compute(commit);
    if (effect_.empty()) return {};
    auto written = write_effect();
    if (!written) tables_.journal.forget();
    return written;
}

SqliteResult<void> LeaseFile::write_effect() {
    TRY(auto transaction, Transaction::begin(database_));
    TRY(tables_.journal.write(database_, effect_, *clock_));
    TRY(tables_.fences.write(effect_.fences()));
    return transaction.commit();
}

void LeaseFile::tidy_up() {
    if (start_number_ == 0) return;
    database_.set_busy_timeout(busy_timeout_.zero());
    auto transaction = Transaction::begin(database_);
    if (transaction && tables_.journal.fold(database_)) {
        static_cast<void>(transaction->commit());
    }
    tables_.journal.forget();
    start_number_ = 0;
}

}  // namespace holdfast::store
