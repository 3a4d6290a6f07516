#pragma once

// Answers, events and locks as lines of text, so that two tables can be compared line by line and
// people can read a difference. Every table chooses its own ids, so these appear as running numbers.

#include <string>
#include <vector>

#include "core/values/changes.h"
#include "core/values/request.h"
#include "core/values/view.h"

namespace holdfast::model {

// The ids that a table gave out, in order. `w1` is the first waiter, `s1` the first session.
struct Names {
    std::vector<core::WaiterId> waiters;
    std::vector<core::SessionId> sessions;

    // The running number of an id; 0 for no id. The number of an id that was never given out is one
    // more than the largest, so that a comparison fails.
    [[nodiscard]] std::size_t number_of(core::WaiterId id) const;
    [[nodiscard]] std::size_t number_of(core::SessionId id) const;
};

[[nodiscard]] std::string to_text(core::Time time);
[[nodiscard]] std::string to_text(const core::Owner& owner);
[[nodiscard]] std::string to_text(const core::Notes& notes);
[[nodiscard]] std::string to_text(const core::LeaseView& lease, const Names& names);

// `held` and `in_grace` give the same text, without the lease that was named: several leases may be
// in the way, and NaiveTable::is_in_the_way decides which ones may be named.
[[nodiscard]] std::string to_text(const core::Outcome& outcome, const Names& names);

// Without the length of the queue, because it depends on the order of events. The Auditor counts it.
// Without the cycle of a deadlock: NaiveTable::is_cycle decides which one may be told.
[[nodiscard]] std::string to_text(const core::Event& event, const Names& names);

// Without the blockers of the waiters: see NaiveTable::is_waiting_for_its_blocker.
[[nodiscard]] std::string to_text(const core::LockView& lock, const Names& names);

[[nodiscard]] std::string to_text(const core::SessionView& session, const Names& names);
[[nodiscard]] std::string to_text(const core::TableCounts& counts);

// The lines, sorted.
[[nodiscard]] std::string join_sorted(std::vector<std::string> lines);

}  // namespace holdfast::model
