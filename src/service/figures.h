#pragma once

// What the service counts, for people who watch it.
//
// Plain numbers, counted as things happen and copied when somebody looks.

#include <cstdint>
#include <string>

#include "base/histogram.h"
#include "core/changes.h"
#include "core/view.h"
#include "service/request.h"

namespace holdfast::service {

// The kinds of requests that are counted. Everything else is a look.
enum class Operation : std::uint8_t { none, acquire, renew, release };

[[nodiscard]] Operation operation_of(const Request& request);

struct OperationFigures {
    std::uint64_t success = 0;
    std::uint64_t fail = 0;
    std::uint64_t busy = 0;  // because somebody else had the store locked
    // From the decision to the answer: mostly the commit. Waiting for a lock is counted elsewhere.
    base::Histogram latency_ms{1, 12};
};

struct ServiceFigures {
    OperationFigures acquire, renew, release;
    std::uint64_t expired = 0;        // leases that ended by themselves
    std::uint64_t forced = 0;         // leases ended by somebody else
    std::uint64_t waits_granted = 0;  // how waits ended
    std::uint64_t waits_timed_out = 0;
    std::uint64_t waits_cancelled = 0;
    base::Histogram wait_seconds{0.001, 20};       // of those that were granted
    base::Histogram hold_seconds{0.001, 24};       // from the grant to the end, whatever ended it
    base::Histogram sweep_seconds{0.000'001, 24};  // what ending leases that expired took
    core::TableCounts table;
    std::string failure;  // why everything is refused; empty: all is well

    void on_event(const core::Event& event);
    void on_answer(Operation operation, const Response& response, core::Duration latency);
};

}  // namespace holdfast::service
