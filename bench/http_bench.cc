// bench_http: Holdfast's `/lock` against a bare echo server with the same message sizes.
//
// Both servers run on one core, the client on another. They take turns, round by round, and each
// figure is the median of the rounds, the ratio that of the ratios within a round: so a machine
// that is slower for a while is slower for both. Prints a Markdown table.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "options/options.h"
#include "wire/homelab_traffic.h"
#include "wire/load_client.h"
#include "wire/round.h"
#include "wire/server_process.h"
#include "wire/two_cores.h"

namespace holdfast::bench {
namespace {

struct Options {
    std::string holdfast = "build/bench/holdfast";
    std::string echo = "build/bench/bin/echo_server";
    std::vector<std::string> serve_arguments;
    int rounds = 7;
    double seconds = 1.5;
};

struct Setting {
    std::size_t connections;
    std::size_t pipeline;
};

constexpr std::array<Setting, 5> settings{{{1, 1}, {16, 1}, {80, 1}, {1000, 1}, {80, 16}}};

void print_head() {
    fmt::print(
        "| connections | in flight on each | echo req/s | holdfast req/s | ratio "
        "| echo p50 / p99 µs | holdfast p50 / p99 µs | echo CPU µs/req | holdfast CPU µs/req |\n"
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
}

void print_row(const Setting& setting, const Figures& echo, const Figures& holdfast) {
    fmt::print(
        "| {} | {} | {:.0f} | {:.0f} | {:.2f} | {:.0f} / {:.0f} | {:.0f} / {:.0f} | {:.2f} | "
        "{:.2f} |\n",
        setting.connections, setting.pipeline, median(echo.per_second), median(holdfast.per_second),
        median_ratio(holdfast.per_second, echo.per_second), median(echo.p50_us),
        median(echo.p99_us), median(holdfast.p50_us), median(holdfast.p99_us), median(echo.cpu_us),
        median(holdfast.cpu_us));
    std::fflush(stdout);
}

class HttpBench {
  public:
    // Starts both servers; the echo server with the sizes of a real exchange.
    static base::Result<HttpBench> start(const Options& options);

    base::Result<void> measure(const Setting& setting);

    [[nodiscard]] std::size_t answer_bytes() const { return answer_bytes_; }

  private:
    HttpBench(const Options& options, ServerProcess holdfast, ServerProcess echo,
              std::size_t answer_bytes)
        : options_(options),
          holdfast_(std::move(holdfast)),
          echo_(std::move(echo)),
          answer_bytes_(answer_bytes) {}

    LoadOptions load(const Setting& setting, std::uint16_t port) const {
        return {.port = port,
                .connections = setting.connections,
                .pipeline = setting.pipeline,
                .framer = fixed_size(answer_bytes_)};
    }

    Options options_;
    ServerProcess holdfast_;
    ServerProcess echo_;
    std::size_t answer_bytes_;
};

base::Result<HttpBench> HttpBench::start(const Options& options) {
    const auto cores = find_two_cores();
    if (!cores) return base::fail("this takes two cores: one for the server, one for the client");
    stay_on_core(cores->client);
    raise_descriptor_limit();
    ServerCommand command{.words = {options.holdfast, "serve", "--memory", "--http", "127.0.0.1:0",
                                    "--dflockd", "none"},
                          .door = "http",
                          .core = cores->server};
    command.words.insert(command.words.end(), options.serve_arguments.begin(),
                         options.serve_arguments.end());
    TRY(auto holdfast, ServerProcess::start(command));
    TRY(auto peer, Peer::connect(holdfast.port()));
    TRY(const auto answer, take_and_renew(peer, 0));
    TRY(auto echo,
        ServerProcess::start({.words = {options.echo, std::to_string(renewal_request(0).size()),
                                        std::to_string(answer.size())},
                              .door = "echo",
                              .core = cores->server}));
    return HttpBench(options, std::move(holdfast), std::move(echo), answer.size());
}

base::Result<void> HttpBench::measure(const Setting& setting) {
    auto holdfast_load = load(setting, holdfast_.port());
    holdfast_load.answer_prefix = ok_prefix;
    holdfast_load.introduce = [](Peer& peer, std::size_t index) -> base::Result<Requests> {
        TRY(take_and_renew(peer, index));
        return Requests{renewal_request(index)};
    };
    auto echo_load = load(setting, echo_.port());
    echo_load.answer_prefix = std::string(ok_prefix.size(), 'x');
    echo_load.introduce = [](Peer&, std::size_t index) -> base::Result<Requests> {
        return Requests{renewal_request(index)};
    };
    TRY(const auto holdfast_client, LoadClient::connect(holdfast_load));
    TRY(const auto echo_client, LoadClient::connect(echo_load));
    Figures holdfast;
    Figures echo;
    const auto duration = std::chrono::duration<double>(options_.seconds);
    for (int round = 0; round < 2 * options_.rounds; ++round) {
        const bool is_echo = (round + 1) / 2 % 2 == 0;  // each goes first every other time
        TRY(is_echo ? run_round(*echo_client, echo_, duration, echo)
                    : run_round(*holdfast_client, holdfast_, duration, holdfast));
    }
    print_row(setting, echo, holdfast);
    return {};
}

base::Result<void> run(const Options& options) {
    TRY(auto bench, HttpBench::start(options));
    fmt::print(
        "`POST /lock` renewals, {} bytes to a request and {} to its answer; medians of {} "
        "alternating rounds of {} s.\n\n",
        renewal_request(0).size(), bench.answer_bytes(), options.rounds, options.seconds);
    print_head();
    for (const Setting& setting : settings) {
        TRY(bench.measure(setting));
    }
    return {};
}

}  // namespace
}  // namespace holdfast::bench

int main(int argument_count, char** arguments) {
    holdfast::bench::Options options;
    const holdfast::options::Program parser("bench_http",
                                            "Measures holdfast's /lock beside a bare echo server.");
    const holdfast::options::Command program = parser.root();
    program.add_option("--holdfast", options.holdfast, "the server's binary");
    program.add_option("--echo", options.echo, "the echo server's binary");
    program.add_option("--rounds", options.rounds, "for each setting and server").between(1, 101);
    program.add_option("--seconds", options.seconds, "for each round").between(0.05, 60.0);
    program.add_option("serve_arguments", options.serve_arguments,
                       "further arguments of `holdfast serve`, after --");
    if (const auto stop = parser.parse(argument_count, arguments)) return stop->show();
    const auto done = holdfast::bench::run(options);
    if (done) return EXIT_SUCCESS;
    fmt::print(stderr, "bench_http: {}\n", done.error().message);
    return EXIT_FAILURE;
}
