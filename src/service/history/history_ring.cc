#include "service/history/history_ring.h"

#include <algorithm>
#include <utility>

namespace holdfast::service {

void HistoryRing::add(std::span<Hold> holds, WallTime now) {
    const std::lock_guard guard(mutex_);
    for (Hold& hold : holds) {
        if (hold.number == 0) hold.number = next_;
        next_ = std::max(next_, hold.number + 1);
        bytes_ += hold.bytes();
        holds_.push_back(std::move(hold));
    }
    drop_excess(now);
}

void HistoryRing::clear() {
    const std::lock_guard guard(mutex_);
    holds_.clear();
    bytes_ = 0;
}

void HistoryRing::drop_excess(WallTime now) {
    const auto is_too_much = [&] {
        return holds_.size() > limits_.rows_max || bytes_ > limits_.bytes_max ||
               now - holds_.front().ended_at > limits_.age_max;
    };
    while (!holds_.empty() && is_too_much()) {
        bytes_ -= holds_.front().bytes();
        holds_.pop_front();
    }
}

HistoryPage HistoryRing::read(const HistoryQuery& query, WallTime now) {
    const std::lock_guard guard(mutex_);
    drop_excess(now);
    HistoryPage page;
    if (!holds_.empty()) page.kept_since = holds_.front().ended_at;
    for (auto hold = holds_.rbegin(); hold != holds_.rend(); ++hold) {
        if (query.after != 0 && hold->number >= query.after) continue;
        if (!matches(query, *hold)) continue;
        if (page.holds.size() == query.limit) {
            page.next = page.holds.back().number;
            break;
        }
        page.holds.push_back(*hold);
    }
    return page;
}

std::size_t HistoryRing::size() const {
    const std::lock_guard guard(mutex_);
    return holds_.size();
}

std::uint64_t HistoryRing::oldest() const {
    const std::lock_guard guard(mutex_);
    return holds_.empty() ? next_ : holds_.front().number;
}

std::uint64_t HistoryRing::next_number() const {
    const std::lock_guard guard(mutex_);
    return next_;
}

}  // namespace holdfast::service
