#include "store/journal/unfolded.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text/append_all.h"

namespace holdfast::store {

FoldStatements::FoldStatements(Statement put, Statement drop, Statement keep_token,
                               FenceTable fences)
    : put_(std::move(put)),
      drop_(std::move(drop)),
      keep_token_(std::move(keep_token)),
      fences_(std::move(fences)) {}

SqliteResult<FoldStatements> FoldStatements::prepare(Database& database) {
    TRY(auto put, prepare_put(database));
    TRY(auto drop, database.prepare("DELETE FROM locks WHERE fencing_token = ?"));
    TRY(auto keep_token, database.prepare("UPDATE tokens SET last_token = max(last_token, ?)"));
    TRY(auto fences, FenceTable::prepare(database));
    return FoldStatements(std::move(put), std::move(drop), std::move(keep_token),
                          std::move(fences));
}

void Unfolded::add(const JournalEntry& entry) {
    last_token_ = std::max(last_token_, entry.last_token);
    for (const JournalEntry::Put& put : entry.puts) this->put(put);
    for (const std::uint64_t fence : entry.ends) end(fence);
    for (const auto& [resource, highest] : entry.marks) {
        marks_.insert_or_assign(std::string(resource), highest);
    }
}

void Unfolded::put(const JournalEntry::Put& put) {
    Lease*& lease = live_[put.row.fence];
    if (lease == nullptr) {
        if (spare_.empty()) spare_.push_back(&leases_.emplace_back());
        lease = spare_.back();
        spare_.pop_back();
        lease->has_row = !put.is_new;
    }
    LeaseRowView& row = lease->row = put.row;
    lease->texts.clear();
    base::append_all(lease->texts, row.name, row.owner, row.request_id, row.metadata);
    const char* place = lease->texts.data();
    for (std::string_view* const text : {&row.name, &row.owner, &row.request_id, &row.metadata}) {
        *text = {place, text->size()};
        place += text->size();
    }
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
    }
    live_.clear();
    ended_rows_.clear();
    marks_.clear();
    last_token_ = 0;
}

SqliteResult<void> Unfolded::write(FoldStatements& statements) const {
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
