// bench_scale: an ordinary request beside very many of something: idle connections, locks, waiters.
//
// One server has nothing beside it; each of the others is filled once. Then they take turns, round
// by round, at one client that renews its lock over and over. The servers run on one core, the
// client on another. Each figure is the median of the rounds. Prints a Markdown table. What the
// system does not allow is left out, and a sentence says so.

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "options/options.h"
#include "wire/homelab_traffic.h"
#include "wire/round.h"
#include "wire/two_cores.h"

namespace holdfast::bench {
namespace {

struct Options {
    std::string holdfast = "build/bench/holdfast";
    int rounds = 5;
    double seconds = 1;
    std::size_t connections = 10'000;
    std::size_t locks = 1'000'000;
    std::size_t waiters = 100'000;
};

using Clock = std::chrono::steady_clock;
using Peers = std::vector<Peer>;

// How long it may take to fill a server.
constexpr auto filling_time_max = std::chrono::seconds(120);
// Of the descriptors that a process may have, what it needs beside connections.
constexpr std::size_t spare_descriptors = 100;

base::Result<void> expect(const std::string& answer, std::string_view beginning) {
    if (answer.starts_with(beginning)) return {};
    return base::fail("an unexpected answer: " + answer);
}

base::Result<void> check_time(Clock::time_point began) {
    if (Clock::now() - began < filling_time_max) return {};
    return base::fail("it takes too long to fill the server");
}

// Connections that have asked once and stay open.
base::Result<Peers> fill_connections(std::uint16_t port, std::size_t count) {
    constexpr std::string_view request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const auto began = Clock::now();
    Peers peers;
    for (std::size_t i = 0; i < count; ++i) {
        TRY(check_time(began));
        TRY(auto peer, Peer::connect(port));
        TRY(const auto answer, peer.exchange(request, http_answer));
        TRY(expect(answer, ok_prefix));
        peers.push_back(std::move(peer));
    }
    return peers;
}

// Locks for an hour, all of one connection.
base::Result<Peers> fill_locks(std::uint16_t port, std::size_t count) {
    constexpr std::size_t batch = 250;
    const auto began = Clock::now();
    Peers peers;
    TRY(auto peer, Peer::connect(port));
    for (std::size_t done = 0; done < count;) {
        TRY(check_time(began));
        std::string requests;
        std::size_t asked = 0;
        for (; asked < batch && done < count; ++asked, ++done) {
            requests += fmt::format("l\nlock-{:07}\n0 3600\n", done);
        }
        TRY(const auto answers, peer.exchange_all(requests, asked, line_answer));
        for (const std::string& answer : answers) TRY(expect(answer, "ok "));
    }
    peers.push_back(std::move(peer));
    return peers;
}

std::string lockserver_request(std::string_view action, std::string_view body) {
    return fmt::format(
        "POST /v1/locks/{} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", action,
        body.size(), body);
}

// One who holds the lock, and so many who wait for it, a hundred requests to a connection.
base::Result<Peers> fill_waiters(std::uint16_t port, std::size_t count) {
    constexpr std::size_t per_connection = 100;
    const auto began = Clock::now();
    Peers peers;
    TRY(auto holder, Peer::connect(port));
    TRY(const auto held,
        holder.exchange(
            lockserver_request("hot/acquire", R"({"owner_id":"holder","ttl_ms":600000})"),
            http_answer));
    TRY(expect(held, ok_prefix));
    for (std::size_t asked = 0; asked < count;) {
        TRY(check_time(began));
        TRY(auto peer, Peer::connect(port));
        std::string requests;
        for (std::size_t i = 0; i < per_connection && asked < count; ++i, ++asked) {
            requests += lockserver_request(
                "hot/acquire",
                fmt::format(R"({{"owner_id":"w{:06}","ttl_ms":60000,"wait_ms":600000}})", asked));
        }
        TRY(peer.send(requests));
        peers.push_back(std::move(peer));
    }
    const std::string in_line = fmt::format(R"("waiters":{},)", count);
    while (true) {
        TRY(check_time(began));
        TRY(const auto seen,
            holder.exchange("GET /v1/locks?prefix=hot HTTP/1.1\r\nHost: localhost\r\n\r\n",
                            http_answer));
        if (seen.find(in_line) != std::string::npos) break;
    }
    peers.push_back(std::move(holder));
    return peers;
}

struct Crowd {
    std::string name;
    const char* door;  // through which the server is filled
    std::size_t count;
    std::function<base::Result<Peers>(std::uint16_t port, std::size_t count)> fill;
};

// A server, what it was filled with, and what was measured there.
struct Participant {
    Crowd crowd;
    ServerProcess server;
    Peers peers;
    std::uint64_t bytes_before;
    std::unique_ptr<LoadClient> client;
    Figures figures = {};
};

// The server may be filled at another door than it is asked at, so both have ports that we know.
base::Result<Participant> start(const Options& options, const Crowd& crowd, int core) {
    const std::uint16_t http = find_free_port();
    const std::uint16_t dflockd = find_free_port();
    TRY(auto server, ServerProcess::start(
                         {.words = {options.holdfast, "serve", "--memory", "--log-level", "warning",
                                    "--http", fmt::format("127.0.0.1:{}", http), "--dflockd",
                                    fmt::format("127.0.0.1:{}", dflockd), "--connections-max",
                                    std::to_string(options.connections + spare_descriptors),
                                    "--idle-timeout", "1h"},
                          .door = "dflockd",
                          .core = core}));
    const std::uint64_t bytes_before = server.resident_bytes();
    Peers peers;
    if (crowd.fill) {
        const bool is_http = crowd.door == std::string_view("http");
        TRY(peers, crowd.fill(is_http ? http : dflockd, crowd.count));
    }
    TRY(auto client,
        LoadClient::connect({.port = http,
                             .introduce = [](Peer& peer, std::size_t) -> base::Result<Requests> {
                                 TRY(take_and_renew(peer, 0));
                                 return Requests{renewal_request(0)};
                             },
                             .framer = http_answer,
                             .answer_prefix = std::string(ok_prefix)}));
    return Participant{.crowd = crowd,
                       .server = std::move(server),
                       .peers = std::move(peers),
                       .bytes_before = bytes_before,
                       .client = std::move(client)};
}

void print_row(const Participant& own, const Figures& alone) {
    const std::uint64_t bytes = own.server.resident_bytes();
    const bool is_growth = own.crowd.count > 0 && bytes > own.bytes_before;
    const auto each =
        is_growth ? std::to_string((bytes - own.bytes_before) / own.crowd.count) : std::string("-");
    fmt::print("| {} | {:.1f} | {} | {:.0f} | {:.0f} / {:.0f} | {:.2f} | {:.2f} |\n",
               own.crowd.name, static_cast<double>(bytes) / (1024 * 1024), each,
               median(own.figures.per_second), median(own.figures.p50_us),
               median(own.figures.p99_us), median_ratio(own.figures.p50_us, alone.p50_us),
               median(own.figures.cpu_us));
    std::fflush(stdout);
}

// How many descriptors a process may have, now that the limit was raised.
std::size_t descriptors_max() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

base::Result<void> run(const Options& options) {
    const auto cores = find_two_cores();
    if (!cores) return base::fail("this takes two cores: one for the server, one for the client");
    stay_on_core(cores->client);
    raise_descriptor_limit();
    std::vector<Crowd> crowds{
        {"nothing", "http", 0, nullptr},
        {fmt::format("{} idle connections", options.connections), "http", options.connections,
         fill_connections},
        {fmt::format("{} locks", options.locks), "dflockd", options.locks, fill_locks},
        {fmt::format("{} waiters for one lock", options.waiters), "http", options.waiters,
         fill_waiters}};
    // The connections of the waiters are ours, too.
    const std::size_t needed = options.connections + options.waiters / 100 + spare_descriptors;
    std::string left_out;
    if (descriptors_max() < needed) {
        left_out = fmt::format(
            "\nLeft out: {} idle connections. They take {} descriptors, and a process may have {} "
            "here.\n",
            options.connections, needed, descriptors_max());
        crowds.erase(crowds.begin() + 1);
    }
    std::vector<Participant> all;
    for (const Crowd& crowd : crowds) {
        TRY(auto participant, start(options, crowd, cores->server));
        all.push_back(std::move(participant));
    }
    const auto duration = std::chrono::duration<double>(options.seconds);
    for (int round = 0; round < options.rounds; ++round) {
        for (std::size_t turn = 0; turn < all.size(); ++turn) {
            // Each server has every place in the order.
            Participant& own = all[(turn + static_cast<std::size_t>(round)) % all.size()];
            TRY(run_round(*own.client, own.server, duration, own.figures));
        }
    }
    fmt::print(
        "One client renews its lock by `POST /lock`, one request at a time; medians of {} "
        "alternating rounds of {} s. Bytes are of resident memory.\n\n"
        "| beside | memory MiB | bytes for each | req/s | p50 / p99 µs | p50 : p50 alone "
        "| CPU µs/req |\n"
        "|---|--:|--:|--:|--:|--:|--:|\n",
        options.rounds, options.seconds);
    for (const Participant& own : all) print_row(own, all.front().figures);
    fmt::print("{}", left_out);
    return {};
}

}  // namespace
}  // namespace holdfast::bench

int main(int argument_count, char** arguments) {
    holdfast::bench::Options options;
    const holdfast::options::Program parser(
        "bench_scale", "Measures a request to holdfast beside very many of something.");
    const holdfast::options::Command program = parser.root();
    program.add_option("--holdfast", options.holdfast, "the server's binary");
    program.add_option("--rounds", options.rounds, "for each server").between(1, 101);
    program.add_option("--seconds", options.seconds, "for each round").between(0.05, 60.0);
    program.add_option("--connections", options.connections, "idle ones").between(1, 1'000'000);
    program.add_option("--locks", options.locks, "that are held").between(1, 3'000'000);
    program.add_option("--waiters", options.waiters, "for one lock").between(1, 100'000);
    if (const auto stop = parser.parse(argument_count, arguments)) return stop->show();
    const auto done = holdfast::bench::run(options);
    if (done) return EXIT_SUCCESS;
    fmt::print(stderr, "bench_scale: {}\n", done.error().message);
    return EXIT_FAILURE;
}
