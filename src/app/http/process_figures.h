#pragma once

// What the operating system knows of this process, for `GET /metrics`: the figures that the client
// libraries of Prometheus have in every program.

#include <cstdint>

namespace holdfast::app {

struct ProcessFigures {
    double cpu_seconds = 0;  // user and system
    std::uint64_t resident_bytes = 0;
    std::uint64_t virtual_bytes = 0;
    std::uint64_t open_descriptors = 0;
    std::uint64_t descriptors_max = 0;
    double start_seconds = 0;  // since 1970
};

// Reads all of them. What cannot be read is 0. From any thread.
[[nodiscard]] ProcessFigures read_process_figures();

}  // namespace holdfast::app
