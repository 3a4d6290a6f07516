#pragma once

// What the engine's benchmarks measure with: a stopwatch, and how much memory is in use.

#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

namespace holdfast::bench {

// Adds up the processor time of this thread between start and stop: what others do on the machine
// at the same time counts as little as can be.
class Stopwatch {
  public:
    void start() { started_ns_ = now_ns(); }
    void stop() { total_ns_ += now_ns() - started_ns_; }

    [[nodiscard]] double ns_per(std::size_t operations) const {
        return static_cast<double>(total_ns_) / static_cast<double>(operations);
    }

  private:
    static std::int64_t now_ns() {
        timespec now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    }

    std::int64_t started_ns_ = 0;
    std::int64_t total_ns_ = 0;
};

// The middle one of what `measure` returns in `times` runs: a shared machine has bad moments.
template <class Measure>
double median_of(std::size_t times, const Measure& measure) {
    std::vector<double> results;
    for (std::size_t i = 0; i < times; ++i) results.push_back(measure());
    std::nth_element(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(times / 2),
                     results.end());
    return results[times / 2];
}

// The bytes that malloc has given out and not got back.
inline std::size_t allocated_bytes() {
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// The bytes of the process that are in memory.
inline std::size_t resident_bytes() {
    malloc_trim(0);
    std::size_t total = 0, resident = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%zu %zu", &total, &resident) != 2) resident = 0;
        std::fclose(file);
    }
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// 0 .. count-1 in an order that is random, and the same in every run.
inline std::vector<std::uint32_t> shuffled(std::size_t count) {
    std::vector<std::uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0U);
    std::shuffle(numbers.begin(), numbers.end(), std::mt19937(12345));
    return numbers;
}

// What a look at a random place in `bytes` of memory costs when each place is known only from the
// one before: the yardstick for everything that touches many records.
inline double ns_per_random_read(std::size_t bytes) {
    struct alignas(64) Line {
        std::uint32_t next = 0;
    };
    std::vector<Line> lines(bytes / sizeof(Line));
    const auto order = shuffled(lines.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        lines[order[i]].next = order[(i + 1) % order.size()];
    }
    constexpr std::size_t reads = 1'000'000;
    std::uint32_t place = 0;
    Stopwatch watch;
    watch.start();
    for (std::size_t i = 0; i < reads; ++i) place = lines[place].next;
    watch.stop();
    // The place is looked at, so that the reads are not optimised away.
    return watch.ns_per(reads) + (place == UINT32_MAX ? 1 : 0);
}

}  // namespace holdfast::bench
