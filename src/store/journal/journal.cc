#include "store/journal/journal.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::store {

namespace {

SqliteError to_sqlite_error(const base::Error& error) {
    return {.message = error.message};
}

}  // namespace

Journal::Journal(std::string path, FoldStatements statements, const Limits& limits)
    : path_(std::move(path)), statements_(std::move(statements)), limits_(limits) {}

SqliteResult<Journal> Journal::prepare(Database& database, std::string path, const Limits& limits) {
    TRY(auto statements, FoldStatements::prepare(database));
    return Journal(std::move(path), std::move(statements), limits);
}

// The file is there before the database says so.
SqliteResult<void> Journal::restart(Database& database) {
    forget();
    TRY(auto bytes, read_journal_bytes(path_).map_error(to_sqlite_error));
    TRY(auto state, fold_all(database, {.bytes = std::move(bytes)}));
    if (!file_) {
        TRY(file_, JournalFile::open(path_, limits_.bytes_max).map_error(to_sqlite_error));
    }
    state.open_bytes = open_bytes();
    name_ = state.name;
    return write_journal_state(database, state);
}

// What the database says of an open journal. Without room on the disk the file may have no size yet.
std::uint64_t Journal::open_bytes() const {
    return std::max<std::uint64_t>(1, file_->size());
}

void Journal::begin(std::int64_t start_number) {
    CHECK(file_);
    start_number_ = start_number;
    is_known_ = true;
    file_->begin(name_);
}

void Journal::forget() {
    is_known_ = false;
    unfolded_.clear();
}

SqliteResult<void> Journal::reload(Database& database) {
    TRY(auto transaction, Transaction::begin(database));
    TRY(restart(database));
    TRY(transaction.commit());
    begin(start_number_);
    return {};
}

SqliteResult<void> Journal::write(Database& database, const service::CommitEffect& effect,
                                  const service::Clock& clock) {
    CHECK(start_number_ > 0);
    if (!is_known_) TRY(reload(database));
    entry_.set(effect, clock.wall(core::Time{}), start_number_, limits_.history.is_on());
    TRY(const bool is_appended, append());
    unfolded_.add(entry_);
    return is_appended ? SqliteResult<void>() : fold_and(database, true, &clock);
}

// False if there is no room.
SqliteResult<bool> Journal::append() {
    auto appended = file_->append(write_entry(entry_, memory_));
    if (appended) return *appended;
    return tl::unexpected(
        SqliteError{.message = appended.error().message, .may_be_committed = true});
}

SqliteResult<void> Journal::fold(Database& database, const service::Clock& clock) {
    if (!is_known_) return reload(database);
    auto folded = fold_and(database, true, &clock);
    if (!folded && folded.error().may_be_committed) forget();
    return folded;
}

void Journal::close(Database& database) {
    if (!is_known_ || !fold_and(database, false, nullptr)) return;
    file_.reset();
    ::unlink(path_.c_str());
}

// With `trim_by`, twice as many rows of the history may go as come: so it does not grow for long.
SqliteResult<void> Journal::fold_and(Database& database, bool is_open,
                                     const service::Clock* trim_by) {
    JournalState next{.name = name_, .open_bytes = is_open ? open_bytes() : 0};
    ++next.name.generation;
    TRY(auto transaction, Transaction::begin(database));
    TRY(unfolded_.write(statements_));
    TRY(write_journal_state(database, next));
    if (const std::size_t holds = unfolded_.hold_count(); trim_by != nullptr && holds > 0) {
        const service::WallTime now = trim_by->wall(trim_by->now());
        TRY(HistoryTrim().step(database, limits_.history, now, 2 * holds));
    }
    TRY(transaction.commit());
    unfolded_.clear();
    name_ = next.name;
    file_->begin(name_);
    return {};
}

}  // namespace holdfast::store
