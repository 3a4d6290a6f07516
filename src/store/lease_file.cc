#include "store/lease_file.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/data_file.h"
#include "store/schema.h"

namespace holdfast::store {

namespace {

// A write-ahead log that is copied into the file every 16 MiB.
constexpr const char* settings =
    "PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536;"
    "PRAGMA wal_autocheckpoint=4000;";

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
                                        std::chrono::milliseconds busy_timeout) {
    const auto refuse = [&path](const auto& error) {
        return base::Error{"cannot use " + path + ": " + error.message};
    };
    TRY(make_folder_of(path).map_error(refuse));
    TRY(auto lock, DataLock::take(path).map_error(refuse));
    TRY(make_or_examine_file(path, schema_version()).map_error(refuse));
    TRY(auto database, open_database(path, busy_timeout).map_error(refuse));
    TRY(auto statements, prepare_statements(database).map_error(refuse));
    return LeaseFile(std::move(lock), std::move(database), std::move(statements), clock,
                     busy_timeout);
}

SqliteResult<LeaseFile::Statements> LeaseFile::prepare_statements(Database& database) {
    TRY(auto put, prepare_put(database));
    TRY(auto drop, database.prepare("DELETE FROM locks WHERE fencing_token = ?"));
    TRY(auto keep_token, database.prepare("UPDATE tokens SET last_token = ?"));
    TRY(auto fences, FenceTable::prepare(database));
    return Statements{.put = std::move(put),
                      .drop = std::move(drop),
                      .keep_token = std::move(keep_token),
                      .fences = std::move(fences)};
}

LeaseFile::LeaseFile(DataLock lock, Database database, Statements statements,
                     const service::Clock& clock, std::chrono::milliseconds busy_timeout)
    : data_lock_(std::move(lock)),
      database_(std::move(database)),
      statements_(std::move(statements)),
      clock_(&clock),
      busy_timeout_(busy_timeout) {}

SqliteResult<void> LeaseFile::write(const service::Commit& commit) {
    CHECK(start_number_ > 0);
    const NetChanges net = net_changes(commit.changes);
    const bool is_nothing =
        net.leases.empty() && net.last_token == last_token_ && commit.fences.empty();
    if (is_nothing) return {};
    TRY(auto transaction, Transaction::begin(database_));
    for (const auto& [fence, change] : net.leases) TRY(write_lease(fence, change));
    if (net.last_token != last_token_) {
        statements_.keep_token.bind(1, static_cast<std::int64_t>(net.last_token));
        TRY(statements_.keep_token.run());
    }
    TRY(statements_.fences.write(commit.fences));
    TRY(transaction.commit());
    last_token_ = net.last_token;
    return {};
}

LeaseFile::NetChanges LeaseFile::net_changes(const core::Changes& changes) const {
    NetChanges net{.last_token = last_token_};
    for (const core::Event& event : changes) {
        using core::EventKind;
        if (!core::is_kept(event)) continue;
        const std::uint64_t fence = core::as_number(event.lease.token.fence);
        const bool is_granted = event.kind == EventKind::granted;
        const bool lives_on =
            is_granted || event.kind == EventKind::renewed ||
            (event.kind == EventKind::expired && event.grace > event.grace.zero());
        if (is_granted) net.last_token = std::max(net.last_token, fence);
        NetChange& change = net.leases[fence];
        change.is_new = change.is_new || is_granted;
        if (lives_on) {
            change.row = to_row(event, *clock_, start_number_);
        } else if (change.is_new) {
            net.leases.erase(fence);
        } else {
            change.row.reset();
        }
    }
    return net;
}

SqliteResult<void> LeaseFile::write_lease(std::uint64_t fence, const NetChange& change) {
    if (change.row) {
        bind_row(statements_.put, *change.row);
        return statements_.put.run();
    }
    statements_.drop.bind(1, static_cast<std::int64_t>(fence));
    return statements_.drop.run();
}

}  // namespace holdfast::store
