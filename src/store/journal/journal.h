#pragma once

// Journal: commits are appended here first and become rows of `locks` later.
//
// A row in `locks` for each grant, removed again at the release, would be work for nothing: most
// leases end within milliseconds. So a commit appends one short text to the table `journal`. The
// text says which leases are new or have other terms, and which have ended (journal_text.h).
//
// When the journal holds more changes than its limit, its oldest part is *folded*: a lease whose
// last change is in that part becomes a row of `locks`, and the row of a lease that has ended is
// removed. A lease that ends before its part is folded never becomes a row
// (docs/decisions/0015).
//
// Folding belongs to the transaction of the commit that causes it. So `journal` and `locks`
// together are right at every moment, and a crash leaves no step half done.
//
// In memory the journal has the same changes as the file, in segments. It knows where the last
// change of each of their leases is. A lease that it does not know is in `locks`, up to date, or
// nowhere. After a failure the memory is thrown away. The file is then folded as a whole before the
// next commit is written.
//
// Thread safety: none. The database must outlive the journal.

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/text/text_arena.h"
#include "service/commit_effect.h"
#include "service/ports/clock.h"
#include "store/journal/journal_text.h"
#include "store/sqlite.h"
#include "store/tables/lease_row.h"

namespace holdfast::store {

class Journal {
  public:
    // REQUIRES: the database has our tables. The journal holds about `changes_max` changes.
    [[nodiscard]] static SqliteResult<Journal> prepare(Database& database, std::size_t changes_max);

    // Folds the journal of the file. Leases that are written from now on belong to this start.
    [[nodiscard]] SqliteResult<void> restart(Database& database, std::int64_t start_number);

    // Writes the leases and the fencing numbers of a commit, but not its fences.
    // REQUIRES: a transaction is open; restart() has succeeded. If this fails, or the transaction
    // does, the caller calls forget().
    [[nodiscard]] SqliteResult<void> write(Database& database, const service::CommitEffect& effect,
                                           const service::Clock& clock);

    // Folds the whole journal. REQUIRES, and what follows a failure: as for write().
    [[nodiscard]] SqliteResult<void> fold(Database& database);

    // Throws the memory away, because it may differ from the file.
    void forget();

  private:
    struct Statements {
        Statement put, drop;  // rows of `locks`
        Statement append, remove, keep_token;
    };

    // Changes that follow one another in the journal. A segment is folded as a whole. It does not
    // move in memory.
    struct Segment {
        struct Lease {
            LeaseRowView row;
            bool is_last_change = true;  // of its lease
        };
        struct End {
            std::uint64_t fence = 0;
            bool is_in_locks = false;  // the lease has a row, which must be removed
        };
        // How much of the segment is in the file, and the last row of the journal with a part of
        // it.
        struct Written {
            std::size_t leases = 0, ends = 0;
            std::int64_t row_number = 0;
        };

        std::vector<Lease> leases;
        std::vector<End> ends;
        Written written;
        base::TextArena texts;  // of the leases

        [[nodiscard]] std::size_t size() const { return leases.size() + ends.size(); }
        [[nodiscard]] bool is_written() const { return written.leases + written.ends == size(); }
        // Appends a lease with copies of its texts.
        void add(LeaseRowView row);
    };

    // Where the journal has the last change of a lease.
    struct LastChange {
        Segment* segment = nullptr;
        std::size_t index = 0;    // among the leases of the segment
        bool is_in_locks = true;  // `locks` has a row of the lease, with older terms
    };

    Journal(Statements statements, std::size_t changes_max);

    // In memory.
    void add_lease(const LeaseRowView& row, bool is_new);
    void add_end(std::uint64_t fence);
    Segment& newest_segment();
    static void supersede(const LastChange& change);

    // In the file.
    SqliteResult<void> fold_oldest();
    SqliteResult<void> keep_token(std::uint64_t last_token);
    SqliteResult<void> move_to_locks(const LeaseRowView& row);
    SqliteResult<void> append(service::WallTime now);
    SqliteResult<void> put_into_words(Segment& segment);

    Statements statements_;
    std::size_t changes_max_, segment_size_;

    bool is_known_ = false;  // whether the memory agrees with the file
    std::int64_t start_number_ = 0;
    std::int64_t row_number_ = 0;   // of the newest row
    std::uint64_t last_token_ = 0;  // the largest fencing number written since restart()

    std::deque<Segment> segments_;                                       // the oldest first
    std::size_t changes_ = 0;                                            // in all segments
    boost::unordered_flat_map<std::uint64_t, LastChange> last_changes_;  // by fencing number

    JournalText text_;  // of a row
};

// Moves everything that the journal of a file says into the other tables, and empties the journal.
// After that `locks` has all leases, and `tokens` has the largest fencing number. Becomes part of
// the transaction that is open. Fails, with a sentence for people, if the journal has content that
// no server can have written.
//
// The journal may contain changes that were folded before: that does no harm. It always has all
// changes from some moment on, and the last change of a lease says everything about the lease. The
// fencing number of a lease that has ended is never given out again.
[[nodiscard]] SqliteResult<void> fold_journal(Database& database);

}  // namespace holdfast::store
