#pragma once

// What benchmarks that let servers take turns measure in each round.

#include <chrono>
#include <vector>

#include "base/result.h"
#include "wire/load_client.h"
#include "wire/server_process.h"

namespace holdfast::bench {

// What one server did, one value per round.
struct Figures {
    std::vector<double> per_second, p50_us, p99_us;
    // Of the server, for each answer.
    std::vector<double> cpu_us, first_thread_cpu_us, sleeps;
};

// Lets the client warm up, measures for so long, and adds a value to each of the figures.
[[nodiscard]] base::Result<void> run_round(LoadClient& client, const ServerProcess& server,
                                           std::chrono::duration<double> duration,
                                           Figures& figures);

// REQUIRES: there is a value.
[[nodiscard]] double median(std::vector<double> values);

// The median of what `values` are to `others` in the same round. REQUIRES: as many of each.
[[nodiscard]] double median_ratio(const std::vector<double>& values,
                                  const std::vector<double>& others);

}  // namespace holdfast::bench
