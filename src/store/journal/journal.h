#pragma once

// Journal: what commits say of leases, on its way into the lock table.
//
// A commit appends to the table `journal` which leases are new or kept on other terms, and which
// have ended: a short text instead of rows. Once there are more changes in it than it is to hold,
// the oldest are *settled*, a small part of it at a time: what is still the last word on a lease is
// written into `locks`, or removed from there. A lease that ends before that never becomes a row
// (docs/decisions/0015). All this is part of the transaction of the commit that causes it, so that
// the journal and `locks` tell the truth together at every moment, and a crash finds no step half
// done.
//
// In memory it has the changes that are in the journal, in segments, and knows of each lease among
// them where the last word on it stands. A lease it does not know is in `locks` as it is, or
// nowhere. After a failure it knows nothing; the file does, and is folded (journal_fold.h).
//
// Thread safety: none. Outlived by its database.

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "core/values/changes.h"
#include "service/ports/clock.h"
#include "store/journal/journal_segment.h"
#include "store/journal/journal_text.h"
#include "store/sqlite.h"
#include "store/tables/lease_row.h"

namespace holdfast::store {

class Journal {
  public:
    // REQUIRES: the database has our tables. It is to hold `changes_max` changes and not many more.
    [[nodiscard]] static SqliteResult<Journal> prepare(Database& database, std::size_t changes_max);

    // Folds the journal of the file. Leases that are written from now on are of this start.
    [[nodiscard]] SqliteResult<void> restart(Database& database, std::int64_t start_number);

    // Writes those of the changes that are to be kept. REQUIRES: within a transaction; restart()
    // has succeeded. When this fails, or the transaction does, forget() comes next.
    [[nodiscard]] SqliteResult<void> write(Database& database, const core::Changes& changes,
                                           const service::Clock& clock);

    // No number up to this one is given out after a restart. REQUIRES, and what follows a failure:
    // as of write().
    [[nodiscard]] SqliteResult<void> reserve(std::uint64_t last_token);

    // Settles all of it. REQUIRES, and what follows a failure: as of write().
    [[nodiscard]] SqliteResult<void> settle(Database& database);

    // What was written last is not in the file: nobody here knows what is.
    void forget();

  private:
    struct Statements {
        Statement put, drop;  // rows of `locks`
        Statement append, remove, keep_token;
    };
    // Where in the journal a lease is spoken of last.
    struct LastWord {
        JournalSegment* segment = nullptr;
        std::size_t place = 0;         // among its leases
        std::uint64_t granted_by = 0;  // which commit; 0: it is in `locks`, if on older terms
    };

    Journal(Statements statements, std::size_t changes_max);

    // In memory.
    void add(const core::Event& event, service::WallTime epoch);
    void add_lease(const LeaseRowView& row, bool is_granted);
    void add_end(std::uint64_t fence);
    JournalSegment& segment_with_room();
    static void withdraw(const LastWord& word);

    // In the file.
    SqliteResult<void> settle_oldest();
    SqliteResult<void> keep_token(std::uint64_t last_token);
    SqliteResult<void> move_to_locks(const LeaseRowView& row);
    SqliteResult<void> append(service::WallTime now);
    SqliteResult<void> word(JournalSegment& segment);

    Statements statements_;
    std::size_t changes_max_, segment_size_;

    bool is_known_ = false;  // whether memory and file agree
    std::int64_t start_number_ = 0;
    std::uint64_t commit_number_ = 0;
    std::int64_t row_number_ = 0;   // of the newest row
    std::uint64_t last_token_ = 0;  // of those written since restart()

    std::deque<JournalSegment> segments_;                            // the oldest first
    std::size_t changes_ = 0;                                        // in all of them
    boost::unordered_flat_map<std::uint64_t, LastWord> last_words_;  // by fencing number

    JournalText text_;  // of a row
};

}  // namespace holdfast::store
