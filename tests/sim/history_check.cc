#include "sim/history_check.h"

namespace holdfast::sim {

std::string find_fault(const HistoryCheck& history) {
    const auto name = [](std::uint64_t fence) { return "#" + std::to_string(fence); };
    for (const auto& [fence, count] : history.rows) {
        if (count > 1) return "the history has a hold twice: " + name(fence);
        if (!history.written.contains(fence)) {
            return "the history has a lease that never was: " + name(fence);
        }
        if (history.is_held(fence)) return "the history has a lease that is held: " + name(fence);
    }
    if (!history.is_complete) return {};
    for (const std::uint64_t fence : history.written) {
        if (!history.is_held(fence) && !history.rows.contains(fence)) {
            return "the history lacks a hold that has ended: " + name(fence);
        }
    }
    return {};
}

}  // namespace holdfast::sim
