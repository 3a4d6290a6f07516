#pragma once

// What the service counts, for people who watch it.
//
// Plain numbers, counted as things happen and copied when somebody looks.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/histogram.h"
#include "core/values/changes.h"
#include "core/values/view.h"
#include "service/request.h"

namespace holdfast::service {

// Whether the service serves, and why not.
enum class Role : std::uint8_t {
    recovering,   // not serving: it reads what the store remembers
    serving,      // everything
    stopping,     // renewals, releases and reads; whoever asks for a lock is refused
    unconfirmed,  // the store's authority deadline has passed: no answer is given from memory
    failed,       // not serving: the store failed, and is tried again
    deposed,      // not serving: another server has the store
};

[[nodiscard]] std::string_view to_text(Role role);

// The kinds of requests that are counted. Everything else is a look.
enum class Operation : std::uint8_t { none, acquire, renew, release, check_token, raise_fence };

[[nodiscard]] Operation operation_of(const Request& request);

// Most operations take less than a millisecond.
inline constexpr double latency_bounds_ms[] = {0.05, 0.1, 0.25, 0.5, 1,   2.5,  5,   10,
                                               25,   50,  100,  250, 500, 1000, 2500};

struct OperationFigures {
    // Counted by the events: how many leases were granted, renewed or released by a client. So a
    // step counts whatever it has done, and a request that is repeated counts once.
    std::uint64_t success = 0;
    // Counted by the answers.
    std::uint64_t fail = 0;
    std::uint64_t busy = 0;  // because somebody else had the store locked
    // From the decision to the answer: mostly the commit. Waiting for a lock is counted elsewhere.
    base::Histogram latency_ms{latency_bounds_ms};
};

// How those who asked whether they may still do something were answered: by their token for a
// scope, or by a fencing number for an outside resource.
struct FenceFigures {
    std::uint64_t tokens_accepted = 0;
    std::uint64_t tokens_mismatched = 0;  // of a lease on something else
    std::uint64_t tokens_expired = 0;
    std::uint64_t tokens_unknown = 0;
    std::uint64_t numbers_accepted = 0;
    std::uint64_t numbers_stale = 0;
    std::uint64_t numbers_refused = 0;  // by a limit
    std::uint64_t failed = 0;           // because the store did

    void on_answer(Operation operation, const Response& response);
};

struct ServiceFigures {
    OperationFigures acquire, renew, release;
    FenceFigures fence_checks;
    std::uint64_t fences = 0;         // resources whose numbers are remembered
    std::uint64_t expired = 0;        // leases that ended by themselves
    std::uint64_t forced = 0;         // leases ended by somebody else
    std::uint64_t waits_granted = 0;  // how waits ended
    std::uint64_t waits_timed_out = 0;
    std::uint64_t waits_cancelled = 0;
    std::uint64_t deadlocks = 0;  // that were told, whether or not the request was refused
    base::Histogram wait_seconds{0.001, 20};       // of those that were granted
    base::Histogram hold_seconds{0.001, 24};       // from the grant to the end, whatever ended it
    base::Histogram sweep_seconds{0.000'001, 24};  // what ending leases that expired took
    core::TableCounts table;
    Role role = Role::serving;
    std::string failure;  // why everything is refused; empty: all is well

    void on_event(const core::Event& event);
    void on_answer(Operation operation, const Response& response, core::Duration latency);
};

}  // namespace holdfast::service
