#include "store/tables/lease_file.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/tables/schema.h"

namespace holdfast::store {

namespace {

// The write-ahead log is copied into the file every 16 MiB. Deleted content is overwritten only in
// pages that are written anyway (FAST): Debian's default would write every page that the journal
// frees.
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

// No server starts so often.
constexpr std::int64_t starts_max = std::int64_t{1} << 53;

}  // namespace

base::Result<LeaseFile> LeaseFile::open(const std::string& path, const service::Clock& clock,
                                        const LeaseFileOptions& options) {
    const auto refuse = [&path](const auto& error) {
        return base::Error{"cannot use " + path + ": " + error.message};
    };
    TRY(make_folder_of(path).map_error(refuse));
    TRY(auto lock, DataLock::acquire(path).map_error(refuse));
    TRY(make_or_examine_file(path, schema_version()).map_error(refuse));
    TRY(auto database, open_database(path, options.busy_timeout).map_error(refuse));
    TRY(auto journal,
        Journal::prepare(database, journal_path(path), options.journal).map_error(refuse));
    return LeaseFile(std::move(lock), std::move(database), std::move(journal), clock, options);
}

LeaseFile::LeaseFile(DataLock lock, Database database, Journal journal, const service::Clock& clock,
                     const LeaseFileOptions& options)
    : data_lock_(std::move(lock)),
      database_(std::move(database)),
      journal_(std::move(journal)),
      clock_(&clock),
      busy_timeout_(options.busy_timeout),
      history_limits_(options.journal.history) {}

SqliteResult<void> LeaseFile::write(const service::Commit& commit) {
    CHECK(start_number_ > 0);
    effect_.compute(commit);
    if (effect_.empty()) return {};
    auto written = journal_.write(database_, effect_, *clock_);
    if (!written) {
        journal_.forget();
    } else if (!journal_.has_unfolded()) {
        look_at_history();  // the journal had no room, and was folded
    }
    return written;
}

SqliteResult<void> LeaseFile::fold() {
    if (start_number_ == 0) return {};
    database_.set_busy_timeout(busy_timeout_.zero());
    const bool has_holds = has_unfolded_holds();
    auto folded = journal_.fold(database_, *clock_);
    if (folded && has_holds) look_at_history();
    database_.set_busy_timeout(busy_timeout_);
    return folded;
}

SqliteResult<bool> LeaseFile::trim_history() {
    constexpr std::size_t rows_at_once = 2'000;
    if (start_number_ == 0 || history_.rows() == 0) return false;
    database_.set_busy_timeout(busy_timeout_.zero());
    const auto trim = [this]() -> SqliteResult<bool> {
        TRY(auto transaction, Transaction::begin(database_));
        TRY(const bool has_more,
            trim_.step(database_, history_limits_, clock_->wall(clock_->now()), rows_at_once));
        TRY(transaction.commit());
        return has_more;
    };
    auto trimmed = trim();
    if (trimmed) {
        look_at_history();
    } else {
        trim_.begin_again();
    }
    database_.set_busy_timeout(busy_timeout_);
    return trimmed;
}

// For figures: if it fails, they are those of before.
void LeaseFile::look_at_history() {
    if (const auto extent = read_history_extent(database_)) history_ = *extent;
}

void LeaseFile::tidy_up() {
    if (start_number_ == 0) return;
    database_.set_busy_timeout(busy_timeout_.zero());
    journal_.close(database_);
    journal_.forget();
    start_number_ = 0;
}

// ---- Recovery ----

SqliteResult<service::Recovered> LeaseFile::recover(const BootClock& now, const OnLease& on_lease) {
    start_number_ = 0;
    auto recovered = recover_all(now, on_lease);
    if (!recovered) journal_.forget();
    return recovered;
}

// In one transaction, so that a file that makes no sense is not changed.
SqliteResult<service::Recovered> LeaseFile::recover_all(const BootClock& now,
                                                        const OnLease& on_lease) {
    database_.set_busy_timeout(has_recovered_ ? busy_timeout_.zero() : busy_timeout_);
    const core::Time began = clock_->now();
    TRY(auto transaction, Transaction::begin(database_));
    TRY(const auto starts, add_start(now));
    const std::int64_t present = starts.back().number;
    TRY(journal_.restart(database_));
    TRY(auto recovered, visit(LeaseAges(starts), present, on_lease));
    TRY(recovered.fences, FenceTable::read(database_));
    if (const std::int64_t needed = std::min(present, oldest_start_);
        starts.front().number < needed) {
        TRY(auto forget, database_.prepare("DELETE FROM starts WHERE number < ?"));
        forget.bind(1, needed);
        TRY(forget.run());
    }
    // The time of the leases begins when all of them have been read.
    TRY(auto note_end, database_.prepare("UPDATE starts SET since_boot_us = ? WHERE number = ?"));
    note_end.bind(1, (now.since_boot + (clock_->now() - began)).count());
    note_end.bind(2, present);
    TRY(note_end.run());
    TRY(transaction.commit());
    journal_.begin(present);
    start_number_ = present;
    has_recovered_ = true;
    look_at_history();
    database_.set_busy_timeout(busy_timeout_);
    return recovered;
}

// The starts before this one. Fails if there is one that no server can have written.
SqliteResult<std::vector<Start>> LeaseFile::read_starts() {
    TRY(auto select,
        database_.prepare("SELECT number, boot, since_boot_us FROM starts ORDER BY number"));
    std::vector<Start> starts;
    for (;;) {
        TRY(const bool has_row, select.step());
        if (!has_row) return starts;
        const bool has_types = select.is_text_or_blob(1) && select.is_integer(2);
        const std::int64_t number = select.number(0);
        const core::Duration since_boot{select.number(2)};
        if (!has_types || number < 1 || number >= starts_max || since_boot < since_boot.zero()) {
            return tl::unexpected(SqliteError{.message = "the start with number " +
                                                         std::to_string(number) +
                                                         " in it makes no sense"});
        }
        starts.push_back({.number = number,
                          .at = {.boot = std::string(select.bytes(1)), .since_boot = since_boot}});
    }
}

// Adds this start. Returns all starts.
SqliteResult<std::vector<Start>> LeaseFile::add_start(const BootClock& now) {
    TRY(auto starts, read_starts());
    const std::int64_t number = starts.empty() ? 1 : starts.back().number + 1;
    starts.push_back({.number = number, .at = now});
    TRY(auto insert, database_.prepare("INSERT INTO starts VALUES (?, ?, ?)"));
    insert.bind(1, number);
    insert.bind(2, now.boot);
    insert.bind(3, now.since_boot.count());
    TRY(insert.run());
    return starts;
}

SqliteResult<service::Recovered> LeaseFile::visit(const LeaseAges& ages, std::int64_t present,
                                                  const OnLease& on_lease) {
    TRY(auto last_token, read_last_token(database_));
    service::Recovered recovered;
    const std::string sql = "SELECT " + lease_column_names() + " FROM locks ORDER BY fencing_token";
    TRY(auto select, database_.prepare(sql.c_str()));
    oldest_start_ = INT64_MAX;
    for (;;) {
        TRY(const bool has_row, select.step());
        if (!has_row) break;
        const auto row = read_row(select);
        const bool is_of_known_start = row && row->start_number >= 0 && row->start_number < present;
        const auto members = is_of_known_start ? core::parse_set(row->members) : std::nullopt;
        if (!members || !on_lease(to_request(*row, *members, ages, *clock_))) {
            return tl::unexpected(SqliteError{.message = "the lease with fencing number " +
                                                         std::to_string(select.number(0)) +
                                                         " in it makes no sense"});
        }
        oldest_start_ = std::min(oldest_start_, row->start_number);
        last_token = std::max(last_token, row->fence);
        ++recovered.leases;
    }
    TRY(check_not_used_up(last_token));
    recovered.next_fence = last_token + 1;
    return recovered;
}

}  // namespace holdfast::store
