// bench_threads: what further threads (`--threads`) give, and what they cost.
//
// The client is one thread on a core of its own. The server's threads are on the other core, or on
// both. On one core, further threads can give nothing: what a request costs more there is the cost
// of passing it between the thread of its connection and the thread of the service. On both cores,
// they compete with the client. Servers with 1, 2 and 4 threads take turns, round by round; each
// figure is the median of the rounds, each ratio that of the ratios within a round. Prints a
// Markdown table.

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "options/options.h"
#include "wire/homelab_traffic.h"
#include "wire/lock_traffic.h"
#include "wire/round.h"
#include "wire/two_cores.h"

namespace holdfast::bench {
namespace {

struct Options {
    std::string holdfast = "build/bench/holdfast";
    std::vector<std::string> serve_arguments;
    int rounds = 5;
    double seconds = 0.7;
};

constexpr std::array<int, 3> thread_counts{1, 2, 4};

struct Traffic {
    const char* name;
    const char* door;
    std::size_t connections;
    std::size_t pipeline;
};

constexpr std::array<Traffic, 5> kinds{{{"POST /lock", "http", 1, 1},
                                        {"POST /lock", "http", 80, 1},
                                        {"POST /lock", "http", 80, 16},
                                        {"dflockd", "dflockd", 80, 1},
                                        {"dflockd", "dflockd", 80, 16}}};

base::Result<ServerProcess> start_server(const Options& options, const Traffic& traffic,
                                         int threads, const TwoCores& cores, bool has_both) {
    ServerCommand command{.words = {options.holdfast, "serve", "--memory", "--log-level", "warning",
                                    "--threads", std::to_string(threads)},
                          .door = traffic.door,
                          .core = cores.server};
    if (has_both) command.second_core = cores.client;
    for (const std::string door : {"http", "dflockd"}) {
        command.words.push_back("--" + door);
        command.words.emplace_back(door == traffic.door ? "127.0.0.1:0" : "none");
    }
    command.words.insert(command.words.end(), options.serve_arguments.begin(),
                         options.serve_arguments.end());
    return ServerProcess::start(command);
}

LoadOptions load_of(const Traffic& traffic, std::uint16_t port) {
    LoadOptions load{
        .port = port, .connections = traffic.connections, .pipeline = traffic.pipeline};
    if (traffic.door == std::string_view("http")) {
        load.introduce = [](Peer& peer, std::size_t index) -> base::Result<Requests> {
            TRY(take_and_renew(peer, index));
            return Requests{renewal_request(index)};
        };
        load.framer = http_answer;
        load.answer_prefix = ok_prefix;
    } else {
        load.introduce = [pipeline = traffic.pipeline](
                             Peer&, std::size_t index) -> base::Result<Requests> {
            return dflockd_requests({.connection = index, .pipeline = pipeline});
        };
        load.framer = line_answer;
        load.answer_prefix = "ok";
        load.carry = dflockd_carry();
    }
    return load;
}

base::Result<void> measure(const Options& options, const Traffic& traffic, const TwoCores& cores,
                           bool has_both) {
    std::vector<ServerProcess> servers;
    std::vector<std::unique_ptr<LoadClient>> clients;
    for (const int threads : thread_counts) {
        TRY(auto server, start_server(options, traffic, threads, cores, has_both));
        TRY(auto client, LoadClient::connect(load_of(traffic, server.port())));
        servers.push_back(std::move(server));
        clients.push_back(std::move(client));
    }
    std::vector<Figures> figures(servers.size());
    const auto duration = std::chrono::duration<double>(options.seconds);
    for (int round = 0; round < options.rounds; ++round) {
        for (std::size_t turn = 0; turn < servers.size(); ++turn) {
            // Each server has every place in the order.
            const std::size_t who = (turn + static_cast<std::size_t>(round)) % servers.size();
            TRY(run_round(*clients[who], servers[who], duration, figures[who]));
        }
    }
    for (std::size_t who = 0; who < servers.size(); ++who) {
        const Figures& own = figures[who];
        const auto service = thread_counts[who] == 1
                                 ? std::string("-")
                                 : fmt::format("{:.2f}", median(own.first_thread_cpu_us));
        fmt::print(
            "| {} | {} | {} × {} | {} | {:.0f} | {:.2f} | {:.0f} / {:.0f} | {:.2f} | {:.2f} | {} "
            "| {:.0f} |\n",
            has_both ? 2 : 1, traffic.name, traffic.connections, traffic.pipeline,
            thread_counts[who], median(own.per_second),
            median_ratio(own.per_second, figures[0].per_second), median(own.p50_us),
            median(own.p99_us), median(own.cpu_us), median_ratio(own.cpu_us, figures[0].cpu_us),
            service, 1000 * median(own.sleeps));
    }
    std::fflush(stdout);
    return {};
}

base::Result<void> run(const Options& options) {
    const auto cores = find_two_cores();
    if (!cores) return base::fail("this takes two cores: one for the server, one for the client");
    stay_on_core(cores->client);
    raise_descriptor_limit();
    fmt::print(
        "In memory; medians of {} alternating rounds of {} s. The client has one core. The server "
        "has the other one, or both.\n\n"
        "| server's cores | requests | in flight | threads | req/s | of 1 thread | p50 / p99 µs "
        "| CPU µs/req | of 1 thread | service's CPU µs/req | sleeps per 1000 req |\n"
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        options.rounds, options.seconds);
    for (const bool has_both : {false, true}) {
        for (const Traffic& traffic : kinds) TRY(measure(options, traffic, *cores, has_both));
    }
    return {};
}

}  // namespace
}  // namespace holdfast::bench

int main(int argument_count, char** arguments) {
    holdfast::bench::Options options;
    const holdfast::options::Program parser("bench_threads",
                                            "Measures holdfast with 1, 2 and 4 threads.");
    const holdfast::options::Command program = parser.root();
    program.add_option("--holdfast", options.holdfast, "the server's binary");
    program.add_option("--rounds", options.rounds, "for each setting and server").between(1, 101);
    program.add_option("--seconds", options.seconds, "for each round").between(0.05, 60.0);
    program.add_option("serve_arguments", options.serve_arguments,
                       "further arguments of `holdfast serve`, after --");
    if (const auto stop = parser.parse(argument_count, arguments)) return stop->show();
    const auto done = holdfast::bench::run(options);
    if (done) return EXIT_SUCCESS;
    fmt::print(stderr, "bench_threads: {}\n", done.error().message);
    return EXIT_FAILURE;
}
