#include "store/lease_file.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/data_file.h"
#include "store/schema.h"

namespace holdfast::store {

namespace {

// A fold takes at least this part of what there is, so that it keeps up with any rate of commits.
constexpr std::size_t fold_part = 16;
// What a row of the journal takes besides its entries, about.
constexpr std::size_t journal_row_bytes = 16;

// A write-ahead log that is copied into the file every 16 MiB.
constexpr const char* settings =
    "PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536;"
    "PRAGMA wal_autocheckpoint=4000;";

SqliteResult<Database> open_database(const std::string& path,
                                     std::chrono::milliseconds busy_timeout) {
    TRY(auto database, Database::open(path));
    database.set_busy_timeout(busy_timeout);
    if (auto done = database.run(settings); !done) return tl::unexpected(done.error());
    if (auto done = prepare_schema(database); !done) return tl::unexpected(done.error());
    TRY(const auto mode, database.text("PRAGMA journal_mode=WAL"));
    if (mode != "wal") {
        return tl::unexpected(SqliteError{.message = "its file system cannot share memory"});
    }
    if (auto done = database.define_unhex(); !done) return tl::unexpected(done.error());
    return database;
}

}  // namespace

base::Result<LeaseFile> LeaseFile::open(const std::string& path, const service::Clock& clock,
                                        std::chrono::milliseconds busy_timeout) {
    const auto refuse = [&path](const std::string& why) {
        return base::fail("cannot use " + path + ": " + why);
    };
    if (auto made = make_folder_of(path); !made) return refuse(made.error().message);
    auto lock = DataLock::take(path);
    if (!lock) return refuse(lock.error().message);
    if (auto examined = make_or_examine_file(path, schema_version()); !examined) {
        return refuse(examined.error().message);
    }
    auto database = open_database(path, busy_timeout);
    if (!database) return refuse(database.error().message);
    auto statements = prepare_statements(*database);
    if (!statements) return refuse(statements.error().message);
    return LeaseFile(std::move(*lock), std::move(*database), std::move(*statements), clock);
}

SqliteResult<LeaseFile::Statements> LeaseFile::prepare_statements(Database& database) {
    const std::string put_sql = "INSERT OR REPLACE INTO locks (" + std::string(row_columns) +
                                ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
    TRY(auto append, database.prepare("INSERT INTO journal (last_token, entries) VALUES (?, ?)"));
    TRY(auto put, database.prepare(put_sql.c_str()));
    TRY(auto drop, database.prepare("DELETE FROM locks WHERE fencing_token = ?"));
    TRY(auto keep_token, database.prepare("UPDATE tokens SET last_token = ?"));
    TRY(auto clear_journal, database.prepare("DELETE FROM journal"));
    return Statements{.append = std::move(append),
                      .put = std::move(put),
                      .drop = std::move(drop),
                      .keep_token = std::move(keep_token),
                      .clear_journal = std::move(clear_journal)};
}

LeaseFile::LeaseFile(DataLock lock, Database database, Statements statements,
                     const service::Clock& clock)
    : data_lock_(std::move(lock)),
      database_(std::move(database)),
      statements_(std::move(statements)),
      clock_(&clock) {}

SqliteResult<void> LeaseFile::write(const core::Changes& changes) {
    CHECK(start_number_ > 0);
    NetChanges net = net_changes(changes);
    if (net.leases.empty() && net.last_token == last_token_) return {};
    std::string entries = "[";
    for (const auto& [fence, change] : net.leases) {
        if (entries.size() > 1) entries += ',';
        if (change.row) {
            append_entry(entries, *change.row);
        } else {
            append_end(entries, fence);
        }
    }
    entries += ']';
    if (auto done = append(entries, net.last_token); !done) return done;
    journal_bytes_ += entries.size() + journal_row_bytes;
    remember(std::move(net));
    return {};
}

LeaseFile::NetChanges LeaseFile::net_changes(const core::Changes& changes) const {
    NetChanges net{.last_token = last_token_};
    for (std::size_t index = 0; index < changes.size(); ++index) {
        using core::EventKind;
        const core::Event event = changes[index];
        const std::uint64_t fence = core::as_number(event.lease.token.fence);
        const bool is_granted = event.kind == EventKind::granted;
        const bool is_kept = is_granted ||
                             (event.kind == EventKind::renewed && event.has_new_terms) ||
                             (event.kind == EventKind::expired && event.grace > event.grace.zero());
        const bool is_over =
            !is_kept && (event.kind == EventKind::released || event.kind == EventKind::expired ||
                         event.kind == EventKind::grace_ended);
        if (!is_kept && !is_over) continue;
        if (is_granted) net.last_token = std::max(net.last_token, fence);
        NetChange& change = net.leases[fence];
        change.is_new = change.is_new || is_granted;
        if (is_kept) {
            change.row = to_row(event, *clock_, start_number_);
        } else if (change.is_new) {
            net.leases.erase(fence);
        } else {
            change.row.reset();
        }
    }
    return net;
}

SqliteResult<void> LeaseFile::append(const std::string& entries, std::uint64_t last_token) {
    if (auto done = set_durable(true); !done) return done;
    TRY(auto transaction, Transaction::begin(database_));
    statements_.append.bind(1, static_cast<std::int64_t>(last_token));
    statements_.append.bind_text(2, entries);
    if (auto done = statements_.append.run(); !done) return done;
    return transaction.commit();
}

void LeaseFile::remember(NetChanges&& changes) {
    last_token_ = changes.last_token;
    for (auto& [fence, change] : changes.leases) {
        const auto [known, is_first] = unfolded_.try_emplace(fence);
        if (is_first) known->second.may_be_in_table = !change.is_new;
        known->second.row = std::move(change.row);
        if (!known->second.row && !known->second.may_be_in_table) unfolded_.erase(known);
    }
}

SqliteResult<void> LeaseFile::fold(std::size_t rows_max) {
    if (journal_bytes_ == 0) return {};
    // Nothing is lost when the end of a fold is: the journal is still there then. Only the commits
    // that follow must be durable, and they make this durable too.
    if (auto done = set_durable(false); !done) return done;
    TRY(auto transaction, Transaction::begin(database_));
    std::size_t rows = std::max(rows_max, unfolded_.size() / fold_part);
    auto end = unfolded_.begin();
    for (; end != unfolded_.end() && rows > 0; ++end, --rows) {
        if (auto done = fold_lease(end->first, end->second); !done) return done;
    }
    const bool is_all = end == unfolded_.end();
    if (is_all) {
        statements_.keep_token.bind(1, static_cast<std::int64_t>(last_token_));
        if (auto done = statements_.keep_token.run(); !done) return done;
        if (auto done = statements_.clear_journal.run(); !done) return done;
    }
    if (auto done = transaction.commit(); !done) return done;
    unfolded_.erase(unfolded_.begin(), end);
    if (is_all) journal_bytes_ = 0;
    return {};
}

SqliteResult<void> LeaseFile::fold_lease(std::uint64_t fence, Unfolded& lease) {
    lease.may_be_in_table = true;  // whatever becomes of the transaction
    if (lease.row) {
        bind_row(statements_.put, *lease.row);
        return statements_.put.run();
    }
    statements_.drop.bind(1, static_cast<std::int64_t>(fence));
    return statements_.drop.run();
}

SqliteResult<void> LeaseFile::set_durable(bool is_durable) {
    if (is_durable == is_durable_) return {};
    auto done = database_.run(is_durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    if (done) is_durable_ = is_durable;
    return done;
}

}  // namespace holdfast::store
