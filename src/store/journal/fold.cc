#include "store/journal/fold.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "store/journal/journal_entry.h"
#include "store/journal/old_rows.h"
#include "store/tables/fencing_numbers.h"
#include "store/tables/schema.h"

namespace holdfast::store {

namespace {

SqliteError journal_error(const std::string& message) {
    return {.message = "its journal cannot be used: " + message};
}

// Adds up what the journal with this name says.
SqliteResult<Unfolded> add_up(const JournalSource& source, const JournalState& state) {
    Unfolded unfolded;
    if (!source.bytes) {
        if (source.use == JournalUse::mine && state.open_bytes > 0) {
            return tl::unexpected(
                journal_error("the file is missing, and the last commits with it; put it back, or "
                              "go on without them: `holdfast restore` takes this file"));
        }
        return unfolded;
    }
    const bool is_size_known = state.open_bytes > 1;
    if (source.use == JournalUse::mine && is_size_known &&
        source.bytes->size() < state.open_bytes) {
        return tl::unexpected(journal_error(
            "the file was cut off, and the last commits with it: it has " +
            std::to_string(source.bytes->size()) + " of " + std::to_string(state.open_bytes) +
            " bytes; put it back, or go on without them: `holdfast restore` takes this file"));
    }
    const auto entries = find_entries(*source.bytes, state.name, source.use);
    if (!entries) return tl::unexpected(journal_error(entries.error().message));
    for (std::size_t index = 0; index < entries->size(); ++index) {
        const auto entry = read_entry((*entries)[index]);
        if (!entry) {
            return tl::unexpected(
                journal_error("record " + std::to_string(index) + " in it makes no sense"));
        }
        unfolded.add(*entry);
    }
    return unfolded;
}

}  // namespace

SqliteResult<JournalState> read_journal_state(Database& database) {
    TRY(auto select, database.prepare("SELECT id, generation, is_open FROM journal_file"));
    TRY(const bool is_found, select.step());
    const bool has_types =
        is_found && select.is_integer(0) && select.is_integer(1) && select.is_integer(2);
    if (!has_types || select.number(1) < 1 || select.number(1) == INT64_MAX ||
        select.number(2) < 0) {
        return tl::unexpected(SqliteError{.message = "what it says of its journal makes no sense"});
    }
    return JournalState{.name = {.database = static_cast<std::uint64_t>(select.number(0)),
                                 .generation = static_cast<std::uint64_t>(select.number(1))},
                        .open_bytes = static_cast<std::uint64_t>(select.number(2))};
}

SqliteResult<void> write_journal_state(Database& database, const JournalState& state) {
    TRY(auto update, database.prepare("UPDATE journal_file SET generation = ?, is_open = ?"));
    update.bind(1, static_cast<std::int64_t>(state.name.generation));
    update.bind(2, static_cast<std::int64_t>(state.open_bytes));
    return update.run();
}

SqliteResult<JournalState> fold_all(Database& database, const JournalSource& source) {
    TRY(read_last_token(database));  // a wrong number must not be hidden by a larger one
    TRY(fold_old_rows(database));
    TRY(auto state, read_journal_state(database));
    TRY(const auto unfolded, add_up(source, state));
    TRY(auto statements, FoldStatements::prepare(database));
    TRY(unfolded.write(statements));
    ++state.name.generation;
    state.open_bytes = 0;
    TRY(write_journal_state(database, state));
    return state;
}

SqliteResult<void> fold_file(const std::string& path) {
    TRY(auto database, Database::open(path));
    database.set_busy_timeout(std::chrono::seconds{5});
    TRY(prepare_schema(database));
    auto bytes = read_journal_bytes(journal_path(path));
    if (!bytes) return tl::unexpected(journal_error(bytes.error().message));
    TRY(auto transaction, Transaction::begin(database));
    TRY(fold_all(database, {.bytes = std::move(*bytes)}));
    TRY(transaction.commit());
    ::unlink(journal_path(path).c_str());
    return {};
}

}  // namespace holdfast::store
