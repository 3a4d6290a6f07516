#pragma once

// What a run has shown, for people and for scripts.

#include <string>

#include "load/load_run.h"

namespace holdfast::load {

// `acquire_success=17`, one a line, in the order in which LockServer's load tool prints them.
[[nodiscard]] std::string counts_text(const LoadCounts& counts);

// How much was done and how long it took.
[[nodiscard]] std::string latency_text(const LoadResult& result);

// One line while it runs.
[[nodiscard]] std::string progress_text(const LoadCounts& counts);

}  // namespace holdfast::load
