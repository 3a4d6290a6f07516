// bench_dflockd: the dflockd door beside a bare echo server with the same message sizes and beside
// Redis, asked for the same.
//
// Clients take locks of their own and give them back. The servers run on one core, the client on
// another, and take turns, round by round; each figure is the median of the rounds, each ratio that
// of the ratios within a round. Then the same with one lock that all want, and with every lock on
// disk before it is told of. Then Redis' own two commands, at the Redis door and at Redis. Prints
// Markdown tables.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "options/options.h"
#include "wire/lock_traffic.h"
#include "wire/round.h"
#include "wire/scratch_folder.h"
#include "wire/two_cores.h"

namespace holdfast::bench {
namespace {

struct Options {
    std::string holdfast = "build/bench/holdfast";
    std::string echo = "build/bench/bin/echo_server";
    std::string redis = "redis-server";
    std::string folder = "build/bench";
    int rounds = 5;
    double seconds = 1;
    std::size_t connections_max = 5000;
    bool is_redis_door_only = false;
    bool is_dflockd_door_only = false;
};

struct Setting {
    std::size_t connections;
    std::size_t pipeline = 1;
    bool is_hot = false;
};

enum class Speech { dflockd, redis, echo };

// One of the servers that take turns.
struct Participant {
    ServerProcess process;
    Speech speech;
};

LoadOptions load_of(const Participant& participant, const Setting& setting) {
    LoadOptions load{.port = participant.process.port(),
                     .connections = setting.connections,
                     .pipeline = setting.pipeline,
                     .framer = line_answer};
    const auto share_of = [setting](std::size_t index) {
        return LockTraffic{
            .connection = index, .pipeline = setting.pipeline, .is_hot = setting.is_hot};
    };
    switch (participant.speech) {
        case Speech::dflockd:
            load.introduce = [=](Peer&, std::size_t index) -> base::Result<Requests> {
                return dflockd_requests(share_of(index));
            };
            load.answer_prefix = "ok";
            load.counted_prefix = setting.is_hot ? "ok " : "";  // the locks that were got
            load.carry = dflockd_carry();
            break;
        case Speech::redis:
            load.introduce = [=](Peer& peer, std::size_t index) {
                return redis_requests(peer, share_of(index));
            };
            load.answer_prefix = setting.is_hot ? "" : "+OK";
            load.other_prefix = ":1";
            load.counted_prefix = setting.is_hot ? "+OK" : "";
            break;
        case Speech::echo:
            load.introduce = [](Peer&, std::size_t) -> base::Result<Requests> {
                return Requests{std::string(dflockd_sizes().request_bytes, 'x')};
            };
            load.framer = fixed_size(dflockd_sizes().answer_bytes);
            load.answer_prefix = "x";
            break;
    }
    return load;
}

// Lets the servers take turns; their figures are in the same order.
base::Result<std::vector<Figures>> measure(const Options& options,
                                           const std::vector<Participant>& participants,
                                           const Setting& setting) {
    std::vector<std::unique_ptr<LoadClient>> loads;
    for (const Participant& participant : participants) {
        TRY(auto connected, LoadClient::connect(load_of(participant, setting)));
        loads.push_back(std::move(connected));
    }
    std::vector<Figures> figures(participants.size());
    const auto duration = std::chrono::duration<double>(options.seconds);
    for (int round = 0; round < options.rounds; ++round) {
        for (std::size_t turn = 0; turn < participants.size(); ++turn) {
            // Everybody has every place in the order.
            const std::size_t who = (turn + static_cast<std::size_t>(round)) % participants.size();
            TRY(run_round(*loads[who], participants[who].process, duration, figures[who]));
        }
    }
    return figures;
}

base::Result<Participant> start_holdfast(const Options& options, int core,
                                         const std::vector<std::string>& flags = {}) {
    ServerCommand command{.words = {options.holdfast, "dflockd", "--port", "0", "--max-locks", "0"},
                          .door = "dflockd",
                          .core = core};
    command.words.insert(command.words.end(), flags.begin(), flags.end());
    TRY(auto process, ServerProcess::start(command));
    return Participant{.process = std::move(process), .speech = Speech::dflockd};
}

// The Redis door of Holdfast, which is spoken to as Redis is.
base::Result<Participant> start_redis_door(const Options& options, int core,
                                           const std::vector<std::string>& flags) {
    ServerCommand command{.words = {options.holdfast, "serve", "--http", "none", "--dflockd",
                                    "none", "--redis", "127.0.0.1:0", "--log-level", "warning"},
                          .door = "redis",
                          .core = core};
    command.words.insert(command.words.end(), flags.begin(), flags.end());
    TRY(auto process, ServerProcess::start(command));
    return Participant{.process = std::move(process), .speech = Speech::redis};
}

base::Result<Participant> start_redis(const Options& options, int core,
                                      const std::vector<std::string>& flags) {
    const std::uint16_t port = find_free_port();
    ServerCommand command{.words = {options.redis, "--port", std::to_string(port), "--bind",
                                    "127.0.0.1", "--save", ""},
                          .port = port,
                          .core = core};
    command.words.insert(command.words.end(), flags.begin(), flags.end());
    TRY(auto process, ServerProcess::start(command));
    return Participant{.process = std::move(process), .speech = Speech::redis};
}

base::Result<Participant> start_echo(const Options& options, int core) {
    const MessageSizes sizes = dflockd_sizes();
    TRY(auto process,
        ServerProcess::start({.words = {options.echo, std::to_string(sizes.request_bytes),
                                        std::to_string(sizes.answer_bytes)},
                              .door = "echo",
                              .core = core}));
    return Participant{.process = std::move(process), .speech = Speech::echo};
}

base::Result<void> compare_in_memory(const Options& options, int core) {
    std::vector<Participant> participants;
    TRY(auto holdfast, start_holdfast(options, core));
    participants.push_back(std::move(holdfast));
    TRY(auto echo, start_echo(options, core));
    participants.push_back(std::move(echo));
    TRY(auto redis, start_redis(options, core, {"--appendonly", "no"}));
    participants.push_back(std::move(redis));
    fmt::print(
        "Locks of their own, in memory; medians of {} alternating rounds of {} s.\n\n"
        "| connections | in flight on each | echo req/s | holdfast | redis | holdfast : echo "
        "| holdfast : redis | holdfast p50 / p99 µs | redis p50 / p99 µs | CPU µs/req: echo "
        "| holdfast | redis |\n"
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        options.rounds, options.seconds);
    for (const std::size_t connections : {1, 16, 80, 500, 5000}) {
        for (const std::size_t pipeline : {1, 16}) {
            if (connections > options.connections_max) continue;
            TRY(const auto all, measure(options, participants, {connections, pipeline}));
            fmt::print(
                "| {} | {} | {:.0f} | {:.0f} | {:.0f} | {:.2f} | {:.2f} | {:.0f} / {:.0f} "
                "| {:.0f} / {:.0f} | {:.2f} | {:.2f} | {:.2f} |\n",
                connections, pipeline, median(all[1].per_second), median(all[0].per_second),
                median(all[2].per_second), median_ratio(all[0].per_second, all[1].per_second),
                median_ratio(all[0].per_second, all[2].per_second), median(all[0].p50_us),
                median(all[0].p99_us), median(all[2].p50_us), median(all[2].p99_us),
                median(all[1].cpu_us), median(all[0].cpu_us), median(all[2].cpu_us));
            std::fflush(stdout);
        }
    }
    return {};
}

// Prints a row of what two servers did.
void print_pair(const Setting& setting, const std::vector<Figures>& all) {
    fmt::print("| {} | {} | {:.0f} | {:.0f} | {:.2f} | {:.0f} / {:.0f} | {:.0f} / {:.0f} |\n",
               setting.connections, setting.pipeline, median(all[0].per_second),
               median(all[1].per_second), median_ratio(all[0].per_second, all[1].per_second),
               median(all[0].p50_us), median(all[0].p99_us), median(all[1].p50_us),
               median(all[1].p99_us));
    std::fflush(stdout);
}

constexpr const char* pair_head =
    "| connections | in flight on each | holdfast {0}/s | redis {0}/s | holdfast : redis "
    "| holdfast p50 / p99 µs | redis p50 / p99 µs |\n"
    "|--:|--:|--:|--:|--:|--:|--:|\n";

base::Result<void> compare_pair(const Options& options, std::vector<Participant> participants,
                                const std::vector<Setting>& settings) {
    for (const Setting& setting : settings) {
        if (setting.connections > options.connections_max) continue;
        TRY(const auto all, measure(options, participants, setting));
        print_pair(setting, all);
    }
    return {};
}

base::Result<void> compare_hot(const Options& options, int core) {
    std::vector<Participant> participants;
    TRY(auto holdfast, start_holdfast(options, core));
    participants.push_back(std::move(holdfast));
    TRY(auto redis, start_redis(options, core, {"--appendonly", "no"}));
    participants.push_back(std::move(redis));
    fmt::print(
        "\nOne lock that all want; only locks that were got are counted. Holdfast's times are from "
        "asking to holding, hand-over after hand-over through the queue; Redis' are those of the "
        "last of many attempts.\n\n");
    fmt::print(fmt::runtime(pair_head), "locks");
    return compare_pair(options, std::move(participants),
                        {{.connections = 1, .is_hot = true},
                         {.connections = 2, .is_hot = true},
                         {.connections = 16, .is_hot = true},
                         {.connections = 80, .is_hot = true},
                         {.connections = 500, .is_hot = true}});
}

base::Result<void> compare_durable(const Options& options, int core, const std::string& folder) {
    std::vector<Participant> participants;
    TRY(auto holdfast, start_holdfast(options, core, {"--data", folder + "/data"}));
    participants.push_back(std::move(holdfast));
    TRY(auto redis,
        start_redis(options, core,
                    {"--dir", folder, "--appendonly", "yes", "--appendfsync", "always"}));
    participants.push_back(std::move(redis));
    fmt::print(
        "\nLocks of their own, on disk before they are told of; Redis with `appendfsync "
        "always`.\n\n");
    fmt::print(fmt::runtime(pair_head), "req");
    return compare_pair(options, std::move(participants),
                        {{.connections = 1},
                         {.connections = 80},
                         {.connections = 500},
                         {.connections = 80, .pipeline = 16}});
}

// The same two commands, SET NX PX and the script that releases, at the Redis door and at Redis.
base::Result<void> compare_redis_door(const Options& options, int core, const std::string& folder) {
    const std::vector<Setting> settings{{.connections = 1},
                                        {.connections = 80},
                                        {.connections = 500},
                                        {.connections = 80, .pipeline = 16},
                                        {.connections = 500, .pipeline = 16}};
    std::vector<Participant> in_memory;
    TRY(auto door, start_redis_door(options, core, {"--memory"}));
    in_memory.push_back(std::move(door));
    TRY(auto redis, start_redis(options, core, {"--appendonly", "no"}));
    in_memory.push_back(std::move(redis));
    fmt::print("{}The Redis door: `SET NX PX` and the script that releases, in memory.\n\n",
               options.is_redis_door_only ? "" : "\n");
    fmt::print(fmt::runtime(pair_head), "req");
    TRY(compare_pair(options, std::move(in_memory), settings));
    std::vector<Participant> on_disk;
    TRY(auto durable_door, start_redis_door(options, core, {"--data", folder + "/redis-door"}));
    on_disk.push_back(std::move(durable_door));
    TRY(auto durable_redis,
        start_redis(options, core,
                    {"--dir", folder, "--appendonly", "yes", "--appendfsync", "always"}));
    on_disk.push_back(std::move(durable_redis));
    fmt::print("\nThe same on disk; Redis with `appendfsync always`.\n\n");
    fmt::print(fmt::runtime(pair_head), "req");
    return compare_pair(options, std::move(on_disk), settings);
}

base::Result<void> run(const Options& options) {
    const auto cores = find_two_cores();
    if (!cores) return base::fail("this takes two cores: one for the server, one for the client");
    stay_on_core(cores->client);
    raise_descriptor_limit();
    if (!options.is_redis_door_only) {
        TRY(compare_in_memory(options, cores->server));
        TRY(compare_hot(options, cores->server));
    }
    const ScratchFolder folder(options.folder);
    const auto done = options.is_redis_door_only
                          ? base::Result<void>()
                          : compare_durable(options, cores->server, folder.path());
    if (!done || options.is_dflockd_door_only) return done;
    return compare_redis_door(options, cores->server, folder.path());
}

}  // namespace
}  // namespace holdfast::bench

int main(int argument_count, char** arguments) {
    holdfast::bench::Options options;
    const holdfast::options::Program parser(
        "bench_dflockd", "Measures holdfast's dflockd door beside a bare echo server and Redis.");
    const holdfast::options::Command program = parser.root();
    program.add_option("--holdfast", options.holdfast, "the server's binary");
    program.add_option("--echo", options.echo, "the echo server's binary");
    program.add_option("--redis", options.redis, "Redis' binary");
    program.add_option("--folder", options.folder, "on the disk to be measured");
    program.add_option("--rounds", options.rounds, "for each setting and server").between(1, 101);
    program.add_option("--seconds", options.seconds, "for each round").between(0.05, 60.0);
    program.add_flag("--redis-door-only", options.is_redis_door_only, "leave out the dflockd door");
    program.add_flag("--dflockd-door-only", options.is_dflockd_door_only,
                     "leave out the Redis door");
    program.add_option("--connections-max", options.connections_max,
                       "leave out what takes more connections");
    if (const auto stop = parser.parse(argument_count, arguments)) return stop->show();
    const auto done = holdfast::bench::run(options);
    if (done) return EXIT_SUCCESS;
    fmt::print(stderr, "bench_dflockd: {}\n", done.error().message);
    return EXIT_FAILURE;
}
