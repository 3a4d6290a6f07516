// The texts about a run, for people and for scripts.

#include <fmt/format.h>

#include "load/load_run.h"

namespace holdfast::load {

namespace {

using std::chrono::nanoseconds;

double milliseconds_of(nanoseconds latency) {
    return std::chrono::duration<double, std::milli>(latency).count();
}

std::string quantiles_line(const char* name, const base::LatencyHistogram& latency) {
    return fmt::format(
        "{:<8}{:>10}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.3f}{:>10.3f}\n", name, latency.count(),
        milliseconds_of(latency.quantile(0.5)), milliseconds_of(latency.quantile(0.9)),
        milliseconds_of(latency.quantile(0.99)), milliseconds_of(latency.quantile(0.999)),
        milliseconds_of(latency.quantile(1)));
}

// 10, 20, 50, 100 ... microseconds: the bounds that a person would choose.
std::vector<nanoseconds> bounds() {
    std::vector<nanoseconds> all;
    for (nanoseconds decade{10'000}; decade <= std::chrono::seconds(10); decade *= 10) {
        for (const int factor : {1, 2, 5}) all.push_back(decade * factor);
    }
    return all;
}

// A bar for every interval from the first to the last that is not empty.
std::string bars(const char* name, const base::LatencyHistogram& latency) {
    constexpr std::uint64_t bar_length_max = 40;
    std::string text = fmt::format("{}, up to ms\n", name);
    std::uint64_t counted = 0;
    for (const nanoseconds bound : bounds()) {
        const std::uint64_t up_to = latency.count_up_to(bound);
        const std::uint64_t here = up_to - counted;
        if (up_to > 0) {
            const std::uint64_t length =
                (here * bar_length_max + latency.count() - 1) / latency.count();
            text += fmt::format("{:>10}{:>10} {}\n", milliseconds_of(bound), here,
                                std::string(length, '#'));
        }
        counted = up_to;
        if (counted == latency.count()) break;
    }
    return text;
}

}  // namespace

std::string counts_text(const LoadCounts& counts) {
    return fmt::format(
        "acquire_success={}\nacquire_fail={}\nrelease_success={}\nwrites_accepted={}\n"
        "stale_rejected={}\nlast_token={}\nerrors={}\n",
        counts.acquire_success, counts.acquire_fail, counts.release_success, counts.writes_accepted,
        counts.stale_rejected, counts.last_token, counts.errors);
}

std::string latency_text(const LoadResult& result) {
    const double seconds = std::chrono::duration<double>(result.duration).count();
    const auto requests =
        static_cast<double>(result.acquire_latency.count() + result.release_latency.count());
    std::string text = fmt::format(
        "{:.1f} locks/s, {:.0f} requests/s in {:.1f} s\n\n"
        "{:<8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
        static_cast<double>(result.counts.acquire_success) / seconds, requests / seconds, seconds,
        "ms", "count", "p50", "p90", "p99", "p99.9", "max");
    text += quantiles_line("acquire", result.acquire_latency);
    text += quantiles_line("release", result.release_latency);
    text += "\n" + bars("acquire", result.acquire_latency);
    text += "\n" + bars("release", result.release_latency);
    return text;
}

std::string progress_text(const LoadCounts& counts) {
    return fmt::format("{} taken, {} refused, {} stale writes refused, {} errors",
                       counts.acquire_success, counts.acquire_fail, counts.stale_rejected,
                       counts.errors);
}

}  // namespace holdfast::load
