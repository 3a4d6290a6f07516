#include "store/journal/journal.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "store/journal/journal_fold.h"

namespace holdfast::store {

SqliteResult<Journal> Journal::prepare(Database& database, std::size_t changes_max) {
    TRY(auto put, prepare_put(database));
    TRY(auto drop, database.prepare("DELETE FROM locks WHERE fencing_token = ?"));
    TRY(auto append,
        database.prepare("INSERT INTO journal (number, start_number, last_token, written_us, "
                         "changes) VALUES (?, ?, ?, ?, ?)"));
    TRY(auto remove, database.prepare("DELETE FROM journal WHERE number <= ?"));
    TRY(auto keep_token, database.prepare("UPDATE tokens SET last_token = max(last_token, ?)"));
    return Journal({.put = std::move(put),
                    .drop = std::move(drop),
                    .append = std::move(append),
                    .remove = std::move(remove),
                    .keep_token = std::move(keep_token)},
                   changes_max);
}

Journal::Journal(Statements statements, std::size_t changes_max)
    : statements_(std::move(statements)),
      changes_max_(changes_max),
      segment_size_(std::max<std::size_t>(changes_max / 32, 1)) {}

SqliteResult<void> Journal::restart(Database& database, std::int64_t start_number) {
    forget();
    start_number_ = start_number;
    last_token_ = 0;
    TRY(fold_journal(database));
    is_known_ = true;
    return {};
}

void Journal::forget() {
    is_known_ = false;
    row_number_ = 0;
    segments_.clear();
    changes_ = 0;
    last_words_.clear();
}

SqliteResult<void> Journal::write(Database& database, const core::Changes& changes,
                                  const service::Clock& clock) {
    CHECK(start_number_ > 0);
    if (!is_known_) TRY(restart(database, start_number_));
    ++commit_number_;
    const service::WallTime epoch = clock.wall(core::Time{});
    bool is_nothing = true;
    for (const core::Event& event : changes) {
        if (!core::is_kept(event)) continue;
        is_nothing = false;
        add(event, epoch);
        if (changes_ > changes_max_) TRY(settle_oldest());
    }
    if (is_nothing) return {};
    return append(epoch + clock.now().time_since_epoch());
}

SqliteResult<void> Journal::settle(Database& database) {
    if (!is_known_) return restart(database, start_number_);
    if (segments_.empty()) return {};
    while (!segments_.empty()) TRY(settle_oldest());
    return keep_token(last_token_);
}

SqliteResult<void> Journal::reserve(std::uint64_t last_token) {
    return keep_token(last_token);
}

void Journal::add(const core::Event& event, service::WallTime epoch) {
    using core::EventKind;
    const std::uint64_t fence = core::as_number(event.lease.token.fence);
    const bool is_granted = event.kind == EventKind::granted;
    const bool lives_on = is_granted || event.kind == EventKind::renewed ||
                          (event.kind == EventKind::expired && event.grace > event.grace.zero());
    // Also of a renewal: a transient lease that becomes durable was granted without being written.
    last_token_ = std::max(last_token_, fence);
    if (lives_on) {
        add_lease(to_row<LeaseRowView>(event, epoch, start_number_), is_granted);
    } else {
        add_end(fence);
    }
}

void Journal::add_lease(const LeaseRowView& row, bool is_granted) {
    JournalSegment& segment = segment_with_room();
    const auto [found, is_new] = last_words_.try_emplace(row.fence);
    LastWord& word = found->second;
    if (!is_new) withdraw(word);
    word.segment = &segment;
    word.place = segment.leases.size();
    if (is_granted) word.granted_by = commit_number_;
    segment.add(row);
    ++changes_;
}

void Journal::add_end(std::uint64_t fence) {
    JournalSegment::End end{.fence = fence, .is_in_locks = true};
    if (const auto found = last_words_.find(fence); found != last_words_.end()) {
        const std::uint64_t granted_by = found->second.granted_by;
        withdraw(found->second);
        last_words_.erase(found);
        if (granted_by == commit_number_) return;  // there is nobody who knows of it
        end.is_in_locks = granted_by == 0;
    }
    segment_with_room().ends.push_back(end);
    ++changes_;
}

JournalSegment& Journal::segment_with_room() {
    if (segments_.empty() || segments_.back().size() >= segment_size_) {
        segments_.emplace_back().leases.reserve(segment_size_ / 2);
    }
    return segments_.back();
}

void Journal::withdraw(const LastWord& word) {
    word.segment->leases[word.place].is_last_word = false;
}

SqliteResult<void> Journal::settle_oldest() {
    JournalSegment& segment = segments_.front();
    for (const JournalSegment::Lease& lease : segment.leases) {
        if (lease.is_last_word) TRY(move_to_locks(lease.row));
    }
    for (const JournalSegment::End& end : segment.ends) {
        if (!end.is_in_locks) continue;
        statements_.drop.bind(1, static_cast<std::int64_t>(end.fence));
        TRY(statements_.drop.run());
    }
    if (segment.written.row_number > 0) {
        statements_.remove.bind(1, segment.written.row_number);
        TRY(statements_.remove.run());
    }
    changes_ -= segment.size();
    segments_.pop_front();
    return {};
}

SqliteResult<void> Journal::move_to_locks(const LeaseRowView& row) {
    bind_row(statements_.put, row);
    TRY(statements_.put.run());
    last_words_.erase(row.fence);
    return {};
}

// Appends what is in memory and not in the file yet.
SqliteResult<void> Journal::append(service::WallTime now) {
    auto segment = segments_.end();
    while (segment != segments_.begin() && !std::prev(segment)->is_written()) --segment;
    bool has_appended = false;
    for (; segment != segments_.end(); ++segment) {
        text_.begin({.last_token = last_token_, .written_at = now});
        TRY(word(*segment));
        if (text_.empty()) continue;
        statements_.append.bind(1, ++row_number_);
        statements_.append.bind(2, start_number_);
        statements_.append.bind(3, static_cast<std::int64_t>(last_token_));
        statements_.append.bind(4, std::int64_t{now.time_since_epoch().count()});
        statements_.append.bind_text(5, text_.finish());
        TRY(statements_.append.run());
        segment->written.row_number = row_number_;
        has_appended = true;
    }
    // The newest row has the largest number. When there is no new one, the last may just have gone.
    if (has_appended) return {};
    return keep_token(last_token_);
}

SqliteResult<void> Journal::keep_token(std::uint64_t last_token) {
    statements_.keep_token.bind(1, static_cast<std::int64_t>(last_token));
    return statements_.keep_token.run();
}

// Words what is not in the file yet. What JSON cannot say goes to `locks` at once.
SqliteResult<void> Journal::word(JournalSegment& segment) {
    for (; segment.written.leases < segment.leases.size(); ++segment.written.leases) {
        JournalSegment::Lease& lease = segment.leases[segment.written.leases];
        if (!lease.is_last_word || text_.add(lease.row)) continue;
        TRY(move_to_locks(lease.row));
        lease.is_last_word = false;
    }
    for (; segment.written.ends < segment.ends.size(); ++segment.written.ends) {
        text_.add_end(segment.ends[segment.written.ends].fence);
    }
    return {};
}

}  // namespace holdfast::store
