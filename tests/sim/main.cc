// holdfast_sim: runs worlds by their seeds and says how they went.
//
//     holdfast_sim 4711          one seed, with its whole history
//     holdfast_sim 1..100000     many, up to the first violation
//     holdfast_sim --cluster 1..1000    worlds with a cluster instead of one server

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/text/number.h"
#include "options/options.h"
#include "sim/simulation.h"

namespace holdfast::sim {

namespace {

constexpr std::size_t tail_lines = 40;

struct Seeds {
    std::uint64_t first = 1, last = 1;
};

std::optional<Seeds> parse_seeds(std::string_view text) {
    const auto dots = text.find("..");
    const auto first = base::parse_decimal<std::uint64_t>(text.substr(0, dots));
    const auto last = dots == std::string_view::npos
                          ? first
                          : base::parse_decimal<std::uint64_t>(text.substr(dots + 2));
    if (!first || !last || *last < *first) return std::nullopt;
    return Seeds{.first = *first, .last = *last};
}

// Whether nothing was broken.
bool run(Kind kind, const Seeds& seeds, bool expects_violation) {
    const bool is_single = seeds.first == seeds.last;
    const auto began = std::chrono::steady_clock::now();
    std::uint64_t steps = 0;
    core::Duration virtual_time{0};
    bool is_well = true;
    std::uint64_t seed = seeds.first;
    for (; seed <= seeds.last && is_well; ++seed) {
        Simulation simulation(kind, seed, is_single ? SIZE_MAX : tail_lines);
        const LastWords last_words(simulation, seed,
                                   expects_violation ? EXIT_SUCCESS : EXIT_FAILURE);
        const Result result = simulation.run();
        steps += result.steps;
        virtual_time += result.virtual_time;
        is_well = !result.violation;
        if (is_single) {
            for (const std::string& line : simulation.history()) fmt::print("{}\n", line);
            fmt::print("history {:016x}\n", result.hash);
        }
        if (!is_well) fmt::print("{}", to_report(result, simulation));
    }
    using Hours = std::chrono::duration<double, std::ratio<3600>>;
    using Minutes = std::chrono::duration<double, std::ratio<60>>;
    const double hours = Hours(virtual_time).count();
    const double minutes = Minutes(std::chrono::steady_clock::now() - began).count();
    fmt::print("{} seeds, {} steps, {:.0f} virtual hours, {:.0f} virtual hours a minute\n",
               seed - seeds.first, steps, hours, hours / minutes);
    return is_well;
}

}  // namespace

}  // namespace holdfast::sim

int main(int argc, char** argv) {
    using namespace holdfast::sim;
    const holdfast::options::Program program("holdfast_sim", "Runs simulated worlds.");
    const holdfast::options::Command app = program.root();
    std::string text = "1..1000";
    bool expects_violation = false, is_cluster = false;
    app.add_option("seeds", text, "one seed, or a range like 1..1000");
    app.add_flag("--cluster", is_cluster, "worlds with a cluster on etcd");
    app.add_flag("--expect-violation", expects_violation, "succeed only if a violation is found");
    if (const auto stop = program.parse(argc, argv)) return stop->show();
    const auto seeds = parse_seeds(text);
    if (!seeds) {
        fmt::print(stderr, "not a seed or a range of seeds: {}\n", text);
        return EXIT_FAILURE;
    }
    const Kind kind = is_cluster ? Kind::cluster : Kind::single_server;
    return run(kind, *seeds, expects_violation) != expects_violation ? EXIT_SUCCESS : EXIT_FAILURE;
}
