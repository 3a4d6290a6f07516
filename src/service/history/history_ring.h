#pragma once

// HistoryRing: a history in memory, bounded in rows, bytes and age. When there is too much, the
// oldest rows go. For servers without a file: those in memory, and the leader of a cluster, whose
// rows are in etcd as well.
//
// Rows are numbered in the order of the ends, but the wall clock may have been set in between. So
// there is an order by time as well: a row from the future does not keep the rows behind it.
//
// Thread safety: any thread may call anything.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "service/history/hold.h"

namespace holdfast::service {

class HistoryRing {
  public:
    explicit HistoryRing(const HistoryLimits& limits) : limits_(limits) {}

    // Adds holds that have ended, in the order of their ends. Those without a number get the next
    // ones. Drops what is too much at the time `now`.
    void add(std::span<Hold> holds, WallTime now);
    void clear();
    // Drops the rows with numbers in [begin, end).
    void drop_range(std::uint64_t begin, std::uint64_t end);
    // From now on rows that are added without a number get none below `number`.
    void skip_to(std::uint64_t number);

    [[nodiscard]] HistoryPage read(const HistoryQuery& query, WallTime now);

    [[nodiscard]] std::size_t size() const;
    // Whether a row with a number in [begin, end) is kept.
    [[nodiscard]] bool has_any(std::uint64_t begin, std::uint64_t end) const;
    [[nodiscard]] std::uint64_t next_number() const;

  private:
    void drop_excess(WallTime now);
    void drop(std::uint64_t number);

    const HistoryLimits limits_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, Hold> holds_;                   // by number
    std::set<std::pair<WallTime, std::uint64_t>> by_time_;  // when they ended, and their numbers
    std::size_t bytes_ = 0;
    std::uint64_t next_ = 1;
};

}  // namespace holdfast::service
