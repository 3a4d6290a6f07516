#pragma once

// `holdfast bench`: load for a lock server, and a witness that looks whether it keeps its word.

#include "load/load_options.h"
#include "options/options.h"

namespace holdfast::app {

void declare_bench_options(const options::Command& command, load::LoadOptions& options);

// Runs it and prints what came of it. The exit code of the program: 0, 1 if the server broke its
// word, 2 if it cannot be reached.
[[nodiscard]] int run_bench(const load::LoadOptions& options);

}  // namespace holdfast::app
