// bench_pairs: how many instructions and allocations an acquire and the release after it cost, in the
// lock table, through the service, with observers, with commits, and at the dflockd door of the
// server, whose part in user space is counted.
//
// Instructions are counted by callgrind, in two runs of different length: the difference leaves out
// starting and stopping. The program starts itself for that, with `--body`.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "engine/pair_bodies.h"
#include "options/options.h"
#include "wire/lock_traffic.h"
#include "wire/server_process.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

// Every `new` of this program comes here.
void* operator new(std::size_t size) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* const place = std::malloc(size)) return place;
    throw std::bad_alloc();
}
void operator delete(void* place) noexcept {
    std::free(place);
}
void operator delete(void* place, std::size_t /*size*/) noexcept {
    std::free(place);
}

namespace holdfast::bench {
namespace {

struct Options {
    std::string holdfast = "build/bench/holdfast";
    std::string body;      // run this one, and count nothing
    std::string profiles;  // the folder where the longer run's profiles are kept; nowhere if empty
    std::size_t turns = 1000;
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

// Runs something for so many turns, and leaves callgrind's profile in the file.
using Profiled =
    std::function<base::Result<void>(std::size_t turns, const std::string& profile_file)>;

// Instructions for a pair: of what `run` does in the longer of two runs and not in the shorter.
base::Result<std::uint64_t> count_instructions(const Options& options, const std::string& name,
                                               const Profiled& run) {
    const std::string scratch = fmt::format("/tmp/bench_pairs.{}", ::getpid());
    const std::string kept =
        options.profiles.empty() ? scratch : fmt::format("{}/{}.callgrind", options.profiles, name);
    std::vector<std::uint64_t> totals;
    for (const std::size_t turns : {options.turns / 4, options.turns}) {
        const std::string& file = turns == options.turns ? kept : scratch;
        TRY(run(turns, file));
        TRY(const auto total, read_total(file));
        totals.push_back(total);
        std::remove(scratch.c_str());
    }
    const std::size_t turns = options.turns - options.turns / 4;
    return (totals[1] - totals[0]) / (turns * pairs_per_turn);
}

base::Result<void> profile_body(std::string_view body, std::size_t turns,
                                const std::string& profile_file) {
    const std::string command = fmt::format(
        "valgrind --tool=callgrind --callgrind-out-file={} /proc/{}/exe --body {} --turns {} "
        "2>/dev/null",
        profile_file, ::getpid(), body, turns);
    if (std::system(command.c_str()) != 0) return base::fail("cannot run: " + command);
    return {};
}

double allocations_per_pair(const PairBody& body, std::size_t turns) {
    body.run(turns);  // buffers grow
    const std::uint64_t before = allocations.load();
    body.run(turns);
    const std::uint64_t shorter = allocations.load();
    body.run(2 * turns);
    const std::uint64_t longer = allocations.load() - shorter;
    return static_cast<double>(longer - (shorter - before)) /
           static_cast<double>(turns * pairs_per_turn);
}

// All answers to the requests of half a turn.
std::size_t turn_of_answers(std::string_view received) {
    std::size_t end = 0;
    for (std::size_t i = 0; i < pairs_per_turn; ++i) {
        const std::size_t size = line_answer(received.substr(end));
        if (size == 0) return 0;
        end += size;
    }
    return end;
}

// One connection acquires as many locks as a turn has with one write, and releases them with the
// next.
base::Result<void> profile_server(const Options& options, std::size_t turns,
                                  const std::string& profile_file) {
    TRY(auto server,
        ServerProcess::start(
            {.words = {"valgrind", "--tool=callgrind", "--callgrind-out-file=" + profile_file,
                       options.holdfast, "serve", "--memory", "--http", "none", "--dflockd",
                       "127.0.0.1:0", "--log-level", "warning"},
             .door = "dflockd"}));
    TRY(auto peer, Peer::connect(server.port()));
    const Requests requests = dflockd_requests({.pipeline = pairs_per_turn});
    const auto half = requests.begin() + static_cast<std::ptrdiff_t>(pairs_per_turn);
    const Carry carry = dflockd_carry();
    std::string acquires;
    for (auto request = requests.begin(); request != half; ++request) acquires += *request;
    for (std::size_t turn = 0; turn < turns; ++turn) {
        TRY(const auto grants, peer.exchange(acquires, turn_of_answers));
        std::string releases;
        std::size_t answer = 0;
        for (auto request = half; request != requests.end(); ++request) {
            std::string release = *request;
            const auto token = std::string_view(grants).substr(answer + carry.answer_offset);
            std::copy_n(token.begin(), carry.bytes,
                        release.begin() + static_cast<std::ptrdiff_t>(carry.request_offset));
            releases += release;
            answer += line_answer(std::string_view(grants).substr(answer));
        }
        TRY(const auto released, peer.exchange(releases, turn_of_answers));
        if (released.find("error") != std::string::npos) return base::fail("no release");
    }
    server.end();
    return {};
}

base::Result<void> run(const Options& options) {
    fmt::print(
        "An acquire and the release after it, {} of each in a turn.\n\n"
        "| | instructions | allocations |\n|---|--:|--:|\n",
        pairs_per_turn);
    for (const PairBody& body : pair_bodies()) {
        const auto profile = [&](std::size_t turns, const std::string& file) {
            return profile_body(body.name, turns, file);
        };
        TRY(const auto count, count_instructions(options, std::string(body.name), profile));
        fmt::print("| {} | {} | {:.2f} |\n", body.description, count,
                   allocations_per_pair(body, options.turns));
        std::fflush(stdout);
    }
    const auto profile = [&](std::size_t turns, const std::string& file) {
        return profile_server(options, turns, file);
    };
    TRY(const auto count, count_instructions(options, "dflockd", profile));
    fmt::print("| a server, at its dflockd door | {} | |\n", count);
    fmt::print("\ninstructions per pipelined dflockd request: {}\n", count / 2);
    return {};
}

base::Result<void> run_body(const Options& options) {
    const auto bodies = pair_bodies();
    const auto body = std::find_if(bodies.begin(), bodies.end(),
                                   [&](const PairBody& one) { return one.name == options.body; });
    if (body == bodies.end()) return base::fail("there is no body " + options.body);
    body->run(options.turns);
    return {};
}

}  // namespace
}  // namespace holdfast::bench

int main(int argument_count, char** arguments) {
    holdfast::bench::Options options;
    const holdfast::options::Program parser(
        "bench_pairs", "Counts what an acquire and a release cost in the engine.");
    const holdfast::options::Command program = parser.root();
    program.add_option("--holdfast", options.holdfast, "the server's binary");
    program.add_option("--body", options.body, "run one body and count nothing");
    program.add_option("--turns", options.turns, "of the longer run").between(100, 100'000);
    program.add_option("--profiles", options.profiles, "keep callgrind's profiles in this folder");
    if (const auto stop = parser.parse(argument_count, arguments)) return stop->show();
    const auto done =
        options.body.empty() ? holdfast::bench::run(options) : holdfast::bench::run_body(options);
    if (done) return EXIT_SUCCESS;
    fmt::print(stderr, "bench_pairs: {}\n", done.error().message);
    return EXIT_FAILURE;
}
