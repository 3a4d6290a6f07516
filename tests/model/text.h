#pragma once

// Answers, events and locks as lines of text: what two tables say is compared line by line, and a
// difference can be read. Ids, which every table chooses for itself, appear as running numbers.

#include <string>
#include <vector>

#include "core/values/changes.h"
#include "core/values/request.h"
#include "core/values/view.h"

namespace holdfast::model {

// The ids a table gave out, in order. `w1` is the first waiter, `s1` the first session.
struct Names {
    std::vector<core::WaiterId> waiters;
    std::vector<core::SessionId> sessions;

    // The running number of an id; 0 for none. An id that was never given out is a failure of its
    // own: its number is one too many.
    [[nodiscard]] std::size_t number_of(core::WaiterId id) const;
    [[nodiscard]] std::size_t number_of(core::SessionId id) const;
};

[[nodiscard]] std::string to_text(core::Time time);
[[nodiscard]] std::string to_text(const core::Owner& owner);
[[nodiscard]] std::string to_text(const core::Notes& notes);
[[nodiscard]] std::string to_text(const core::LeaseView& lease, const Names& names);

// `held` and `in_grace` read the same, without the lease that was named: there may be several in
// the way, and NaiveTable::is_in_the_way judges which may be named.
[[nodiscard]] std::string to_text(const core::Outcome& outcome, const Names& names);

// Without the length of the queue, which depends on the order of events: the Auditor counts it.
[[nodiscard]] std::string to_text(const core::Event& event, const Names& names);

// Without what the waiters wait for: see NaiveTable::is_waiting_for_its_blocker.
[[nodiscard]] std::string to_text(const core::LockView& lock, const Names& names);

[[nodiscard]] std::string to_text(const core::SessionView& session, const Names& names);
[[nodiscard]] std::string to_text(const core::TableCounts& counts);

// Sorted, one a line.
[[nodiscard]] std::string join_sorted(std::vector<std::string> lines);

}  // namespace holdfast::model
