#pragma once

// Unfolded: what the journal says and the tables of the database do not have yet.
//
// Entries of the journal are added in their order. Only their sum is kept: of a lease how it is now,
// and nothing of a lease that was granted and has ended meanwhile. So this takes memory for the
// leases that live, however long the journal is; and most leases end within milliseconds, before
// they become rows (docs/decisions/0015). With a history, every hold that has ended becomes a row of
// `history`, and is kept here until then.
//
// write() may be repeated, also if the tables have some or all of it: a row is replaced, the end of a
// lease removes its row if there is one, and fencing numbers are never given out again. Only rows of
// the history would be written twice: they come into the tables with the generation (fold.h).
//
// Thread safety: none. The database must outlive the statements. Can be moved, but not copied: rows
// refer to their texts.

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "store/journal/journal_entry.h"
#include "store/sqlite.h"
#include "store/tables/fencing_numbers.h"
#include "store/tables/history_table.h"
#include "store/tables/lease_row.h"

namespace holdfast::store {

// The statements with which it is written.
class FoldStatements {
  public:
    [[nodiscard]] static SqliteResult<FoldStatements> prepare(Database& database);

  private:
    friend class Unfolded;
    FoldStatements(Statement put, Statement drop, Statement keep_token, FenceTable fences,
                   HistoryWriter history);

    Statement put_, drop_, keep_token_;
    FenceTable fences_;
    HistoryWriter history_;
};

class Unfolded {
  public:
    Unfolded() = default;
    Unfolded(Unfolded&&) = default;
    Unfolded& operator=(Unfolded&&) = default;

    void add(const JournalEntry& entry);
    void clear();

    // How many rows write() writes or removes, at least.
    [[nodiscard]] std::size_t size() const {
        return live_.size() + ended_rows_.size() + marks_.size();
    }
    // How many rows of the history it writes.
    [[nodiscard]] std::size_t hold_count() const { return holds_.size(); }
    // Whether there is nothing to write.
    [[nodiscard]] bool empty() const { return size() == 0 && holds_.empty() && last_token_ == 0; }

    // Writes all of it into the tables. REQUIRES: a transaction is open.
    [[nodiscard]] SqliteResult<void> write(FoldStatements& statements) const;

  private:
    struct Lease {
        LeaseRowView row;
        std::string texts;     // of the row
        bool has_row = false;  // `locks` has one, with older terms
        core::Duration waited{0};
    };
    struct Hold {
        JournalEntry::EndedHold end;  // without `by`
        Lease* lease = nullptr;       // null: `locks` has its row
        std::string by;
    };

    void put(const JournalEntry::Put& put);
    void end_hold(const JournalEntry::EndedHold& hold);
    void end(std::uint64_t fence);
    void note_wait(const JournalEntry::Wait& wait);
    [[nodiscard]] Lease* take_spare();
    static void set_row(Lease& lease, const LeaseRowView& row);
    SqliteResult<void> write_holds(HistoryWriter& history) const;
    SqliteResult<void> write_waits(HistoryWriter& history) const;

    boost::unordered_flat_map<std::uint64_t, Lease*> live_;  // by fencing number
    std::deque<Lease> leases_;                               // which do not move
    std::vector<Lease*> spare_;                              // whose memory is used again
    std::vector<std::uint64_t> ended_rows_;                  // by fencing number
    std::vector<Hold> holds_;                                // in the order of their ends
    std::map<std::string, std::uint64_t, std::less<>> marks_;
    std::uint64_t last_token_ = 0;
};

}  // namespace holdfast::store
