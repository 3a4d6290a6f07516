#pragma once

// A run of clients against a server: they take locks, hold them, write under their fencing numbers
// and give them back, while a Witness looks on. Now and then one of them stands still until its
// lease is over, and writes nevertheless.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/latency_histogram.h"
#include "base/result.h"
#include "load/load_options.h"

namespace holdfast::load {

// What has been counted so far.
struct LoadCounts {
    std::uint64_t acquire_success = 0;
    std::uint64_t acquire_fail = 0;
    std::uint64_t release_success = 0;
    std::uint64_t writes_accepted = 0;
    std::uint64_t stale_rejected = 0;
    std::uint64_t last_token = 0;  // the largest that was written under
    std::uint64_t errors = 0;      // requests without an answer, or with one that nobody expects
};

struct LoadResult {
    LoadCounts counts;
    std::chrono::nanoseconds duration{};
    base::LatencyHistogram acquire_latency;  // of grants and refusals
    base::LatencyHistogram release_latency;
    std::string first_error;  // empty: there was none
    std::vector<std::string>
        faults;  // what the witnesses have seen; empty: the server kept its word
    std::uint64_t fault_count = 0;
};

// Runs to the end. `on_second` is called about once a second, with what has been counted until
// then. Fails if the server cannot be reached in the beginning.
[[nodiscard]] base::Result<LoadResult> run_load(
    const LoadOptions& options, const std::function<void(const LoadCounts&)>& on_second);

}  // namespace holdfast::load
