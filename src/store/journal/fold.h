#pragma once

// Folding: moving what the journal says into the tables of the database.
//
// The table `journal_file` has one row: the number that names the database, the generation of its
// journal that is not folded, and whether there is a journal and how large it is. A fold writes
// what the journal says into the other tables, and the next generation into this one, in the same
// transaction. From then on the records of the old generation mean nothing. So whatever crashes, each
// record is folded once, or is still in the journal.

#include <cstdint>
#include <optional>
#include <string>

#include "store/journal/journal_file.h"
#include "store/journal/unfolded.h"
#include "store/sqlite.h"

namespace holdfast::store {

struct JournalState {
    JournalName name;
    // Above zero: a server has begun to write there, and has not ended cleanly. The file has at least
    // so many bytes, because it never shrinks: a smaller one was cut off, and with it commits.
    // (Earlier versions wrote 1. The column is still called is_open.)
    std::uint64_t open_bytes = 0;
};

// Fails if the row makes no sense.
[[nodiscard]] SqliteResult<JournalState> read_journal_state(Database& database);
[[nodiscard]] SqliteResult<void> write_journal_state(Database& database, const JournalState& state);

// The content of a journal, and whether a server may be writing there.
struct JournalSource {
    std::optional<std::string> bytes;  // none: there is no file
    JournalUse use = JournalUse::mine;
};

// Folds all that the journal says, and the rows of older versions. Returns the state that the
// database has now; the journal is closed. Becomes part of the transaction that is open. Fails, with
// a sentence for people, if the journal is damaged, missing, or not that of this database.
[[nodiscard]] SqliteResult<JournalState> fold_all(Database& database, const JournalSource& source);

// Opens the database at `path`, folds everything and removes its journal, so that the file has all
// leases as rows. REQUIRES: the caller has its DataLock.
[[nodiscard]] SqliteResult<void> fold_file(const std::string& path);

}  // namespace holdfast::store
