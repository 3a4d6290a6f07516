#include "service/history/history_ring.h"

#include <algorithm>
#include <utility>

namespace holdfast::service {

void HistoryRing::add(std::span<Hold> holds, WallTime now) {
    const std::lock_guard guard(mutex_);
    for (Hold& hold : holds) {
        if (hold.number == 0) hold.number = next_;
        next_ = std::max(next_, hold.number + 1);
        drop(hold.number);
        bytes_ += hold.bytes();
        by_time_.emplace(hold.ended_at, hold.number);
        holds_.emplace(hold.number, std::move(hold));
    }
    drop_excess(now);
}

void HistoryRing::clear() {
    const std::lock_guard guard(mutex_);
    holds_.clear();
    by_time_.clear();
    bytes_ = 0;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): a range
void HistoryRing::drop_range(std::uint64_t begin, std::uint64_t end) {
    const std::lock_guard guard(mutex_);
    for (auto row = holds_.lower_bound(begin); row != holds_.end() && row->first < end;) {
        drop((row++)->first);
    }
}

void HistoryRing::skip_to(std::uint64_t number) {
    const std::lock_guard guard(mutex_);
    next_ = std::max(next_, number);
}

// Does nothing if there is no row with this number.
void HistoryRing::drop(std::uint64_t number) {
    const auto found = holds_.find(number);
    if (found == holds_.end()) return;
    bytes_ -= found->second.bytes();
    by_time_.erase({found->second.ended_at, number});
    holds_.erase(found);
}

void HistoryRing::drop_excess(WallTime now) {
    while (!by_time_.empty() && now - by_time_.begin()->first > limits_.age_max) {
        drop(by_time_.begin()->second);
    }
    while (holds_.size() > limits_.rows_max || bytes_ > limits_.bytes_max) {
        drop(holds_.begin()->first);
    }
}

HistoryPage HistoryRing::read(const HistoryQuery& query, WallTime now) {
    const std::lock_guard guard(mutex_);
    drop_excess(now);
    HistoryPage page;
    if (!by_time_.empty()) page.kept_since = by_time_.begin()->first;
    auto place = query.after == 0 ? holds_.end() : holds_.lower_bound(query.after);
    while (place != holds_.begin()) {
        const Hold& hold = (--place)->second;
        if (!matches(query, hold)) continue;
        if (page.is_full(query)) {
            page.next = page.holds.back().number;
            break;
        }
        page.add(hold);
    }
    return page;
}

std::size_t HistoryRing::size() const {
    const std::lock_guard guard(mutex_);
    return holds_.size();
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): a range
bool HistoryRing::has_any(std::uint64_t begin, std::uint64_t end) const {
    const std::lock_guard guard(mutex_);
    const auto found = holds_.lower_bound(begin);
    return found != holds_.end() && found->first < end;
}

std::uint64_t HistoryRing::next_number() const {
    const std::lock_guard guard(mutex_);
    return next_;
}

}  // namespace holdfast::service
