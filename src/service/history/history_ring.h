#pragma once

// HistoryRing: a history in memory, bounded in rows, bytes and age. When there is too much, the
// oldest rows go. For servers without a file: those in memory, and the leader of a cluster, whose
// rows are in etcd as well.
//
// Thread safety: any thread may call anything.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

#include "service/history/hold.h"

namespace holdfast::service {

class HistoryRing {
  public:
    explicit HistoryRing(const HistoryLimits& limits) : limits_(limits) {}

    // Adds holds that have ended, in the order of their ends. Those without a number get the next
    // ones. Drops what is too much at the time `now`.
    void add(std::span<Hold> holds, WallTime now);
    void clear();

    [[nodiscard]] HistoryPage read(const HistoryQuery& query, WallTime now);

    [[nodiscard]] std::size_t size() const;
    // The number of the oldest row that is kept; the next number if there is none.
    [[nodiscard]] std::uint64_t oldest() const;
    [[nodiscard]] std::uint64_t next_number() const;

  private:
    void drop_excess(WallTime now);

    const HistoryLimits limits_;
    mutable std::mutex mutex_;
    std::deque<Hold> holds_;  // oldest first
    std::size_t bytes_ = 0;
    std::uint64_t next_ = 1;
};

}  // namespace holdfast::service
