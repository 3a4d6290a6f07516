#pragma once

// Journal: commits are written to a file of their own first, and become rows of the database later.
//
// A transaction of SQLite for each commit would cost several times what the disk needs, and a row
// for each grant, removed again at the release, would be work for nothing: most leases end within
// milliseconds. So a commit is appended to the file beside the database, `holdfast.db.journal`
// (journal_file.h, journal_entry.h), and its sum is kept in memory (unfolded.h). From time to time
// that sum is *folded*: one transaction writes it into the tables, and the file is used again from
// its beginning (fold.h, docs/decisions/0034).
//
// A commit for which the file has no room is folded together with everything before it.
//
// After a failure the memory may differ from the files. It is thrown away, and the files are folded
// before the next commit is written.
//
// Thread safety: none. The database must outlive the journal.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "service/commit_effect.h"
#include "service/ports/clock.h"
#include "store/journal/fold.h"
#include "store/journal/journal_entry.h"
#include "store/journal/journal_file.h"
#include "store/journal/unfolded.h"
#include "store/sqlite.h"

namespace holdfast::store {

class Journal {
  public:
    struct Limits {
        std::size_t changes_max = 0;  // is_long() if there are more rows to write
        std::size_t bytes_max = JournalFile::size_max;
        std::size_t holds_max = 0;  // is_long() if there are more rows of the history to write
        service::HistoryLimits history = {};
    };

    // The journal in the file at `path`. REQUIRES: the database has our tables.
    [[nodiscard]] static SqliteResult<Journal> prepare(Database& database, std::string path,
                                                       const Limits& limits);

    // Folds what the journal says. Becomes part of the transaction that is open; the caller calls
    // begin() when it is committed, and forget() if it fails.
    [[nodiscard]] SqliteResult<void> restart(Database& database);
    // Leases that are written from now on belong to this start of the server.
    void begin(std::int64_t start_number);

    // Makes a commit durable, all of it or nothing. If this fails, the caller calls forget().
    // REQUIRES: begin() was called.
    [[nodiscard]] SqliteResult<void> write(Database& database, const service::CommitEffect& effect,
                                           const service::Clock& clock);

    // Whether the memory agrees with the files: since begin(), until forget().
    [[nodiscard]] bool is_known() const { return is_known_; }
    // Whether there is something to fold.
    [[nodiscard]] bool has_unfolded() const { return !unfolded_.empty(); }
    // Whether there is more to fold than the limit.
    [[nodiscard]] bool is_long() const {
        return unfolded_.size() > limits_.changes_max || unfolded_.hold_count() > limits_.holds_max;
    }
    // How many holds have ended that are not in the table yet.
    [[nodiscard]] std::size_t hold_count() const { return unfolded_.hold_count(); }
    // Folds everything, and removes a few rows of the history that are too much. If this fails,
    // everything is still in the journal.
    [[nodiscard]] SqliteResult<void> fold(Database& database, const service::Clock& clock);
    // Folds everything and removes the file. If this fails, the next start does it.
    void close(Database& database);

    // Throws the memory away, because it may differ from the files.
    void forget();

  private:
    Journal(std::string path, FoldStatements statements, const Limits& limits);

    SqliteResult<void> reload(Database& database);
    SqliteResult<bool> append();
    [[nodiscard]] std::uint64_t open_bytes() const;
    SqliteResult<void> fold_and(Database& database, bool is_open, const service::Clock* trim_by);

    std::string path_;
    FoldStatements statements_;
    Limits limits_;

    std::optional<JournalFile> file_;
    JournalName name_;
    bool is_known_ = false;  // whether the memory agrees with the files
    std::int64_t start_number_ = 0;
    Unfolded unfolded_;

    // Of the commit that is written. Their memory is used again.
    JournalEntry entry_;
    std::string memory_;
};

}  // namespace holdfast::store
