#include "store/journal/unfolded.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text/append_all.h"

namespace holdfast::store {

FoldStatements::FoldStatements(Statement put, Statement drop, Statement keep_token,
                               FenceTable fences, HistoryWriter history)
    : put_(std::move(put)),
      drop_(std::move(drop)),
      keep_token_(std::move(keep_token)),
      fences_(std::move(fences)),
      history_(std::move(history)) {}

SqliteResult<FoldStatements> FoldStatements::prepare(Database& database) {
    TRY(auto put, prepare_put(database));
    TRY(auto drop, database.prepare("DELETE FROM locks WHERE fencing_token = ?"));
    TRY(auto keep_token, database.prepare("UPDATE tokens SET last_token = max(last_token, ?)"));
    TRY(auto fences, FenceTable::prepare(database));
    TRY(auto history, HistoryWriter::prepare(database));
    return FoldStatements(std::move(put), std::move(drop), std::move(keep_token), std::move(fences),
                          std::move(history));
}

void Unfolded::add(const JournalEntry& entry) {
    last_token_ = std::max(last_token_, entry.last_token);
    for (const JournalEntry::Put& put : entry.puts) this->put(put);
    for (const JournalEntry::Wait& wait : entry.waits) note_wait(wait);
    // Before the ends: a hold takes its row from the lease.
    for (const JournalEntry::EndedHold& hold : entry.holds) end_hold(hold);
    for (const std::uint64_t fence : entry.ends) end(fence);
    for (const auto& [resource, highest] : entry.marks) {
        marks_.insert_or_assign(std::string(resource), highest);
    }
}

Unfolded::Lease* Unfolded::take_spare() {
    if (spare_.empty()) spare_.push_back(&leases_.emplace_back());
    Lease* const lease = spare_.back();
    spare_.pop_back();
    return lease;
}

// With texts of its own.
void Unfolded::set_row(Lease& lease, const LeaseRowView& given) {
    LeaseRowView& row = lease.row = given;
    lease.texts.clear();
    base::append_all(lease.texts, row.name, row.owner, row.request_id, row.metadata, row.members,
                     row.value, row.waiter, row.granted_by);
    const char* place = lease.texts.data();
    for (std::string_view* const text : {&row.name, &row.owner, &row.request_id, &row.metadata,
                                         &row.members, &row.value, &row.waiter, &row.granted_by}) {
        *text = {place, text->size()};
        place += text->size();
    }
}

void Unfolded::put(const JournalEntry::Put& put) {
    Lease*& lease = live_[put.row.fence];
    const bool is_known = lease != nullptr;
    if (!is_known) {
        lease = take_spare();
        lease->has_row = !put.is_new;
        lease->waited = core::Duration::zero();
    }
    // Only the first put of a lease knows who has asked for it.
    LeaseRowView row = put.row;
    const std::string granted_by(is_known ? lease->row.granted_by : std::string_view());
    if (!granted_by.empty()) row.granted_by = granted_by;
    set_row(*lease, row);
}

void Unfolded::note_wait(const JournalEntry::Wait& wait) {
    const auto found = live_.find(wait.fence);
    if (found != live_.end()) found->second->waited = wait.waited;
}

// The lease may live on, in grace: so the hold has a copy of it.
void Unfolded::end_hold(const JournalEntry::EndedHold& hold) {
    const auto found = live_.find(hold.fence);
    Hold& ended = holds_.emplace_back(Hold{.end = hold, .by = std::string(hold.by)});
    ended.end.by = {};
    if (found == live_.end()) return;
    Lease* const copy = take_spare();
    copy->has_row = found->second->has_row;
    copy->waited = found->second->waited;
    set_row(*copy, found->second->row);
    ended.lease = copy;
}

void Unfolded::end(std::uint64_t fence) {
    const auto found = live_.find(fence);
    if (found == live_.end()) {
        ended_rows_.push_back(fence);
        return;
    }
    if (found->second->has_row) ended_rows_.push_back(fence);
    spare_.push_back(found->second);
    live_.erase(found);
}

void Unfolded::clear() {
    constexpr std::size_t kept_size = 16'384;
    if (leases_.size() > kept_size) {
        spare_.clear();
        leases_.clear();
    } else {
        for (const auto& [fence, lease] : live_) spare_.push_back(lease);
        for (const auto& [end, lease, by] : holds_) {
            if (lease != nullptr) spare_.push_back(lease);
        }
    }
    live_.clear();
    holds_.clear();
    ended_rows_.clear();
    marks_.clear();
    last_token_ = 0;
}

// The row of a lease that `locks` has is copied from there: it knows how long the holder waited. A
// lease that was transient when it was granted may have no row there.
SqliteResult<void> Unfolded::write_holds(HistoryWriter& history) const {
    if (holds_.empty()) return {};
    TRY(auto number, history.next_number());
    for (const auto& [end, lease, by] : holds_) {
        const HistoryWriter::End ended{
            .number = number++, .at = end.at, .ending = end.ending, .by = by};
        if (lease == nullptr || lease->has_row) TRY(history.copy(end.fence, ended));
        if (lease != nullptr) TRY(history.add(lease->row, lease->waited, ended));
    }
    return {};
}

SqliteResult<void> Unfolded::write_waits(HistoryWriter& history) const {
    for (const auto& [fence, lease] : live_) {
        if (lease->waited > core::Duration::zero()) TRY(history.note_wait(fence, lease->waited));
    }
    for (const std::uint64_t fence : ended_rows_) TRY(history.forget_wait(fence));
    return {};
}

// Holds first: they need rows that are removed after that.
SqliteResult<void> Unfolded::write(FoldStatements& statements) const {
    TRY(write_holds(statements.history_));
    TRY(write_waits(statements.history_));
    // Neighbours in the table are written one after the other.
    std::vector<const LeaseRowView*> rows;
    rows.reserve(live_.size());
    for (const auto& [fence, lease] : live_) rows.push_back(&lease->row);
    std::ranges::sort(rows, {}, &LeaseRowView::fence);
    for (const LeaseRowView* const row : rows) {
        bind_row(statements.put_, *row);
        TRY(statements.put_.run());
    }
    for (const std::uint64_t fence : ended_rows_) {
        statements.drop_.bind(1, static_cast<std::int64_t>(fence));
        TRY(statements.drop_.run());
    }
    std::vector<service::FenceMark> marks;
    for (const auto& [resource, highest] : marks_) {
        marks.push_back({.resource = resource, .highest = highest});
    }
    TRY(statements.fences_.write(marks));
    if (last_token_ == 0) return {};
    statements.keep_token_.bind(1, static_cast<std::int64_t>(last_token_));
    return statements.keep_token_.run();
}

}  // namespace holdfast::store
