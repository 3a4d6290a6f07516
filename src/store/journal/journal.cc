#include "store/journal/journal.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "store/tables/fencing_numbers.h"

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
    last_changes_.clear();
}

SqliteResult<void> Journal::write(Database& database, const service::CommitEffect& effect,
                                  const service::Clock& clock) {
    CHECK(start_number_ > 0);
    if (!is_known_) TRY(restart(database, start_number_));
    if (effect.last_fence() > 0) {
        last_token_ = std::max(last_token_, effect.last_fence());
        const service::WallTime epoch = clock.wall(core::Time{});
        for (const service::CommitEffect::Put& put : effect.puts()) {
            add_lease(to_row<LeaseRowView>(*put.change, epoch, start_number_), put.is_new);
            if (changes_ > changes_max_) TRY(fold_oldest());
        }
        for (const core::Event* const end : effect.ends()) {
            add_end(core::as_number(end->lease.token.fence));
            if (changes_ > changes_max_) TRY(fold_oldest());
        }
        TRY(append(epoch + clock.now().time_since_epoch()));
    }
    if (effect.reserved_fence() == 0) return {};
    return keep_token(effect.reserved_fence());
}

SqliteResult<void> Journal::fold(Database& database) {
    if (!is_known_) return restart(database, start_number_);
    if (segments_.empty()) return {};
    while (!segments_.empty()) TRY(fold_oldest());
    return keep_token(last_token_);
}

// ---- In memory ----

void Journal::Segment::add(LeaseRowView row) {
    for (std::string_view* const text : {&row.name, &row.owner, &row.request_id, &row.metadata}) {
        *text = texts.keep(*text);
    }
    leases.push_back({.row = row});
}

void Journal::add_lease(const LeaseRowView& row, bool is_new) {
    Segment& segment = newest_segment();
    const auto [found, is_first] = last_changes_.try_emplace(row.fence);
    LastChange& last = found->second;
    if (is_first) {
        last.is_in_locks = !is_new;
    } else {
        supersede(last);
    }
    last.segment = &segment;
    last.index = segment.leases.size();
    segment.add(row);
    ++changes_;
}

void Journal::add_end(std::uint64_t fence) {
    Segment::End end{.fence = fence, .is_in_locks = true};
    if (const auto found = last_changes_.find(fence); found != last_changes_.end()) {
        end.is_in_locks = found->second.is_in_locks;
        supersede(found->second);
        last_changes_.erase(found);
    }
    newest_segment().ends.push_back(end);
    ++changes_;
}

// The segment that takes the next change.
Journal::Segment& Journal::newest_segment() {
    if (segments_.empty() || segments_.back().size() >= segment_size_) {
        segments_.emplace_back().leases.reserve(segment_size_ / 2);
    }
    return segments_.back();
}

void Journal::supersede(const LastChange& change) {
    change.segment->leases[change.index].is_last_change = false;
}

// ---- In the file ----

SqliteResult<void> Journal::fold_oldest() {
    Segment& segment = segments_.front();
    for (const Segment::Lease& lease : segment.leases) {
        if (lease.is_last_change) TRY(move_to_locks(lease.row));
    }
    for (const Segment::End& end : segment.ends) {
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
    last_changes_.erase(row.fence);
    return {};
}

// Appends the changes that are in memory and not yet in the file: one row for each segment.
SqliteResult<void> Journal::append(service::WallTime now) {
    auto segment = segments_.end();
    while (segment != segments_.begin() && !std::prev(segment)->is_written()) --segment;
    bool has_appended = false;
    for (; segment != segments_.end(); ++segment) {
        text_.begin({.last_token = last_token_, .written_at = now});
        TRY(put_into_words(*segment));
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
    // The newest row has the largest number. Without a new row, the row that had it may just have
    // been folded and removed.
    if (has_appended) return {};
    return keep_token(last_token_);
}

SqliteResult<void> Journal::keep_token(std::uint64_t last_token) {
    statements_.keep_token.bind(1, static_cast<std::int64_t>(last_token));
    return statements_.keep_token.run();
}

// Adds to text_ what the file does not have of this segment. A lease that JSON cannot express
// becomes a row of `locks` at once.
SqliteResult<void> Journal::put_into_words(Segment& segment) {
    for (; segment.written.leases < segment.leases.size(); ++segment.written.leases) {
        Segment::Lease& lease = segment.leases[segment.written.leases];
        if (text_.add(lease.row)) continue;
        TRY(move_to_locks(lease.row));
        lease.is_last_change = false;
    }
    for (; segment.written.ends < segment.ends.size(); ++segment.written.ends) {
        text_.add_end(segment.ends[segment.written.ends].fence);
    }
    return {};
}

namespace {

// A SELECT of the leases in the journal that have values of other types than a server writes.
std::string select_of_other_types() {
    std::string sql =
        "SELECT fencing_token FROM journal_leases "
        "WHERE typeof(fencing_token) <> 'integer' OR NOT has_ended AND (FALSE";
    for (const LeaseColumn& column : lease_columns()) {
        sql.append(" OR typeof(").append(column.name).append(") <> '").append(column.type) += '\'';
    }
    return sql += ')';
}

// Fails if `sql` finds something. `part` says what its number names.
// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): two callers, a few lines below
SqliteResult<void> find_none(Database& database, const std::string& sql, const std::string& part) {
    TRY(auto select, database.prepare(sql.c_str()));
    TRY(const bool is_found, select.step());
    if (!is_found) return {};
    return tl::unexpected(SqliteError{.message = part + std::to_string(select.number(0)) +
                                                 " in its journal makes no sense"});
}

SqliteResult<void> examine_journal(Database& database) {
    // Text that is not JSON must not reach json_each(), which would fail with a message of its own.
    TRY(find_none(database,
                  "SELECT number FROM journal WHERE typeof(start_number) <> 'integer' OR "
                  "typeof(last_token) <> 'integer' OR typeof(written_us) <> 'integer' OR CASE WHEN "
                  "json_valid(changes) THEN "
                  "json_type(changes) <> 'array' ELSE TRUE END",
                  "row "));
    TRY(find_none(database,
                  "SELECT number FROM journal, json_each(changes) "
                  "WHERE type NOT IN ('array', 'integer') OR type = 'array' AND "
                  "(json_type(value, '$[0]'), json_type(value, '$[4]'), json_type(value, '$[5]')) "
                  "IS NOT ('integer', 'integer', 'integer')",
                  "row "));
    return find_none(database, select_of_other_types(), "the lease with fencing number ");
}

}  // namespace

SqliteResult<void> fold_journal(Database& database) {
    TRY(const auto rows, database.number("SELECT EXISTS (SELECT 1 FROM journal)"));
    if (rows == 0) return {};
    TRY(examine_journal(database));
    TRY(read_last_token(database));  // a wrong number must not be hidden by a larger one
    const std::string& columns = lease_column_names();
    const std::string put = "INSERT OR REPLACE INTO locks (" + columns + ") SELECT " + columns +
                            " FROM journal_leases WHERE NOT has_ended";
    TRY(database.run(put.c_str()));
    return database.run(
        "DELETE FROM locks WHERE fencing_token IN "
        "(SELECT fencing_token FROM journal_leases WHERE has_ended);"
        "UPDATE tokens SET last_token = "
        "max(last_token, (SELECT max(last_token) FROM journal));"
        "DELETE FROM journal;");
}

}  // namespace holdfast::store
