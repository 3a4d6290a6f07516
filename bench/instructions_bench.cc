// bench_instructions: how many user-space instructions the server executes for one `POST /lock`
// renewal.
//
// Unlike time this hardly differs from run to run or from machine to machine, so it is what a
// regression is noticed by. The server runs under callgrind twice, with different numbers of
// requests, one at a time (or several together) on one connection; the difference of the two totals
// leaves out starting and stopping.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "options/options.h"
#include "wire/homelab_traffic.h"
#include "wire/server_process.h"

namespace holdfast::bench {
namespace {

struct Options {
    std::string holdfast = "build/bench/holdfast";
    std::string profile;  // where the longer run's profile is kept; nowhere if empty
    std::size_t requests = 3000;
    std::size_t in_flight = 1;  // how many are sent together
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

// Runs the server for that many requests and leaves its profile in a file.
base::Result<std::uint64_t> count_instructions(const Options& options, std::size_t requests,
                                               const std::string& profile) {
    ServerCommand command{.words = {"valgrind", "--tool=callgrind",
                                    "--callgrind-out-file=" + profile, options.holdfast, "serve",
                                    "--memory", "--http", "127.0.0.1:0", "--dflockd", "none"},
                          .door = "http"};
    command.words.insert(command.words.end(), options.serve_arguments.begin(),
                         options.serve_arguments.end());
    TRY(auto server, ServerProcess::start(command));
    TRY(auto peer, Peer::connect(server.port()));
    TRY(const auto renewed, take_and_renew(peer, 0));
    std::string together;
    for (std::size_t i = 0; i < options.in_flight; ++i) together += renewal_request(0);
    const auto all_answers = fixed_size(options.in_flight * renewed.size());
    for (std::size_t i = 0; i < requests; i += options.in_flight) {
        TRY(const auto answer, peer.exchange(together, all_answers));
        if (!answer.starts_with(ok_prefix)) return base::fail("no renewal: " + answer);
    }
    server.end();
    return read_total(profile);
}

base::Result<void> run(const Options& options) {
    const std::string scratch = fmt::format("/tmp/bench_instructions.{}", ::getpid());
    const std::size_t few_requests = options.requests / 4;
    const auto few = count_instructions(options, few_requests, scratch);
    std::remove(scratch.c_str());
    if (!few) return base::fail(few.error().message);
    const std::string kept = options.profile.empty() ? scratch : options.profile;
    const auto many = count_instructions(options, options.requests, kept);
    std::remove(scratch.c_str());
    if (!many) return base::fail(many.error().message);
    const std::size_t difference = options.requests - few_requests;
    const std::string kind =
        options.in_flight == 1 ? "" : fmt::format(", {} in flight", options.in_flight);
    fmt::print("instructions per POST /lock renewal{}: {}\n", kind, (*many - *few) / difference);
    return {};
}

}  // namespace
}  // namespace holdfast::bench

int main(int argument_count, char** arguments) {
    holdfast::bench::Options options;
    const holdfast::options::Program parser(
        "bench_instructions", "Counts the user-space instructions of one POST /lock renewal.");
    const holdfast::options::Command program = parser.root();
    program.add_option("--holdfast", options.holdfast, "the server's binary");
    program.add_option("--requests", options.requests, "of the longer run").between(100, 100'000);
    program.add_option("--in-flight", options.in_flight, "how many are sent together")
        .between(1, 64);
    program.add_option("--profile", options.profile,
                       "keep the longer run's callgrind profile here");
    program.add_option("serve_arguments", options.serve_arguments,
                       "further arguments of `holdfast serve`, after --");
    if (const auto stop = parser.parse(argument_count, arguments)) return stop->show();
    const auto done = holdfast::bench::run(options);
    if (done) return EXIT_SUCCESS;
    fmt::print(stderr, "bench_instructions: {}\n", done.error().message);
    return EXIT_FAILURE;
}
