// The texts about a run, for people and for scripts.

#include <fmt/format.h>

#include "base/text/duration.h"
#include "load/load_run.h"

namespace holdfast::load {

namespace {

using std::chrono::nanoseconds;

double milliseconds_of(nanoseconds latency) {
    return std::chrono::duration<double, std::milli>(latency).count();
}

// A percentile is known to a tenth of a percent, so more than three digits would be made up.
std::string three_digits(nanoseconds latency) {
    const double shown = milliseconds_of(latency);
    const int decimals = shown >= 100 ? 0 : shown >= 10 ? 1 : shown >= 1 ? 2 : 3;
    return fmt::format("{:.{}f}", shown, decimals);
}

std::string quantiles_line(const char* name, const base::LatencyHistogram& latency) {
    return fmt::format("{:<8}{:>10}{:>10.3f}{:>10}{:>10}{:>10}{:>10}{:>10.3f}\n", name,
                       latency.count(), milliseconds_of(latency.min()),
                       three_digits(latency.quantile(0.5)), three_digits(latency.quantile(0.9)),
                       three_digits(latency.quantile(0.99)), three_digits(latency.quantile(0.999)),
                       milliseconds_of(latency.max()));
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

std::string number_of(std::uint64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

// What the witness has checked, as far as the protocol lets it.
std::string promises_text(const LoadOptions& options, const LoadCounts& counts) {
    std::string text = "no two holders at once";
    // The tool numbers the grants of homelab itself.
    if (options.door != Door::homelab) text += ", every fencing number larger than those before";
    text += ", no stale write accepted";
    if (counts.stale_rejected > 0) text += fmt::format(" ({} refused)", counts.stale_rejected);
    return text;
}

}  // namespace

std::string verdict_text(const LoadOptions& options, const LoadResult& result) {
    const LoadCounts& counts = result.counts;
    std::string text = fmt::format("{}, {}: ", number_of(options.clients, "client", "clients"),
                                   base::format_duration(options.duration));
    if (result.fault_count > 0) {
        return text + fmt::format("BROKEN {}; the first: {}\n",
                                  number_of(result.fault_count, "time", "times"),
                                  result.faults.front());
    }
    if (result.acquire_latency.count() == 0) {
        return text + "no request was answered, so nothing was checked\n";
    }
    text += "all promises kept: " + promises_text(options, counts);
    text += fmt::format(", in {}\n", number_of(counts.acquire_success, "grant", "grants"));
    if (counts.errors == 0) return text;
    text.pop_back();
    return text + fmt::format("; {} failed\n", number_of(counts.errors, "request", "requests"));
}

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
        "{:<8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
        static_cast<double>(result.counts.acquire_success) / seconds, requests / seconds, seconds,
        "ms", "count", "min", "p50", "p90", "p99", "p99.9", "max");
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
