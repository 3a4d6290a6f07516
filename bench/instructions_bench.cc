// bench_instructions: how many user-space instructions the server executes for one request of each
// kind, first of all for a `POST /lock` renewal.
//
// Unlike time this hardly differs from run to run or from machine to machine, so it is what a
// regression is noticed by. The server runs under callgrind and answers the requests of one
// connection. callgrind is asked for its count after the first quarter and at the end, so that
// starting, warming up and stopping are left out. `bench/quick` compares two servers by it.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "options/options.h"
#include "wire/counted_traffic.h"
#include "wire/scratch_folder.h"
#include "wire/server_process.h"

namespace holdfast::bench {
namespace {

struct Options {
    std::string holdfast = "build/bench/holdfast";
    std::string folder = "build/bench";
    std::string profile;  // where callgrind's profile is kept; nowhere if empty
    std::vector<std::string> kinds = {"renewal"};
    std::size_t requests = 3000;
    std::vector<std::string> serve_arguments;
};

// The total in a file that callgrind wrote.
base::Result<std::uint64_t> read_total(const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        for (const std::string_view name : {"totals: ", "summary: "}) {
            if (line.starts_with(name)) return std::stoull(line.substr(name.size()));
        }
    }
    return base::fail("no total in " + path);
}

// Without the log: the thread that writes it works by the clock, and so not the same in every run.
ServerCommand make_command(const Options& options, const CountedKind& kind,
                           const std::string& profile, const std::string& data) {
    ServerCommand command{
        .words = {"valgrind", "--tool=callgrind", "--callgrind-out-file=" + profile,
                  options.holdfast, "serve", "--log-level", "warning"},
        .door = std::string(kind.door)};
    const auto add = [&command](std::initializer_list<std::string> words) {
        command.words.insert(command.words.end(), words);
    };
    for (const std::string door : {"http", "dflockd", "redis"}) {
        add({"--" + door, kind.door == door ? "127.0.0.1:0" : "none"});
    }
    if (kind.is_durable) {
        add({"--data", data});
    } else {
        add({"--memory"});
    }
    for (const auto* more : {&kind.flags, &options.serve_arguments}) {
        command.words.insert(command.words.end(), more->begin(), more->end());
    }
    return command;
}

// Has callgrind write what it has counted since it was asked last, and count from 0 again.
base::Result<void> ask_for_profile(const ServerProcess& server) {
    const auto command = fmt::format("vgdb --pid={} dump >/dev/null 2>&1", server.pid());
    if (std::system(command.c_str()) == 0) return {};
    return base::fail("callgrind does not answer: `vgdb` has to be installed, and ptrace allowed");
}

base::Result<std::uint64_t> count_steps(const Options& options, const CountedKind& kind,
                                        std::size_t steps) {
    const ScratchFolder folder(options.folder);
    const std::string profile = folder / "profile";
    TRY(auto server, ServerProcess::start(make_command(options, kind, profile, folder / "data")));
    TRY(auto peer, Peer::connect(server.port()));
    TRY(const auto step, kind.prepare(peer));
    for (std::size_t i = 0; i < steps / 4; ++i) TRY(step(peer));
    TRY(ask_for_profile(server));
    for (std::size_t i = 0; i < steps; ++i) TRY(step(peer));
    TRY(ask_for_profile(server));
    const std::string second_profile = profile + ".2";
    if (!options.profile.empty()) {
        std::filesystem::copy_file(second_profile, options.profile,
                                   std::filesystem::copy_options::overwrite_existing);
    }
    return read_total(second_profile);
}

base::Result<void> count(const Options& options, const CountedKind& kind) {
    const std::size_t steps = std::max<std::size_t>(options.requests / kind.units_per_step, 4);
    TRY(const auto total, count_steps(options, kind, steps));
    fmt::print("instructions per {}: {}\n", kind.unit, total / (steps * kind.units_per_step));
    std::fflush(stdout);
    return {};
}

base::Result<void> run(const Options& options) {
    const auto is_wanted = [&options](std::string_view name) {
        return std::any_of(options.kinds.begin(), options.kinds.end(),
                           [name](const std::string& kind) { return kind == name; });
    };
    for (const CountedKind& kind : counted_kinds()) {
        if (is_wanted(kind.name) || is_wanted("all")) TRY(count(options, kind));
    }
    return {};
}

std::vector<std::string> names_of_kinds() {
    std::vector<std::string> names{"all"};
    for (const CountedKind& kind : counted_kinds()) names.emplace_back(kind.name);
    return names;
}

}  // namespace
}  // namespace holdfast::bench

int main(int argument_count, char** arguments) {
    holdfast::bench::Options options;
    const holdfast::options::Program parser("bench_instructions",
                                            "Counts the user-space instructions of one request.");
    const holdfast::options::Command program = parser.root();
    program.add_option("--holdfast", options.holdfast, "the server's binary");
    program.add_option("--folder", options.folder, "where locks and profiles are while it counts");
    program.add_option("--kind", options.kinds, "what is counted; repeatable")
        .among(holdfast::bench::names_of_kinds())
        .repeatable();
    program.add_option("--requests", options.requests, "that are counted").between(100, 100'000);
    program.add_option("--profile", options.profile,
                       "keep callgrind's profile here; of the last kind");
    program.add_option("serve_arguments", options.serve_arguments,
                       "further arguments of `holdfast serve`, after --");
    if (const auto stop = parser.parse(argument_count, arguments)) return stop->show();
    const auto done = holdfast::bench::run(options);
    if (done) return EXIT_SUCCESS;
    fmt::print(stderr, "bench_instructions: {}\n", done.error().message);
    return EXIT_FAILURE;
}
