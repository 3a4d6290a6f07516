#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace holdfast::sim {

// A history of holds, where a store has it, and what the store had of leases. All by fencing numbers.
struct HistoryCheck {
    const std::map<std::uint64_t, int>& rows;  // how many the history has of a lease
    const std::set<std::uint64_t>& written;    // every lease that the store ever had, or nearly
    std::function<bool(std::uint64_t)> is_held;
    bool is_complete = true;  // no row was left out, or removed
};

// What is wrong with the history; empty: nothing. It has one row for each lease that was ever written
// and is not held any more, and for no other.
[[nodiscard]] std::string find_fault(const HistoryCheck& history);

}  // namespace holdfast::sim
