// bench_durable: what it costs that a lock is on disk before its taker is told.
//
// Clients take a lock of their own and give it back, over and over. Four servers take turns, round
// by round, on one core, the client being on another: Holdfast on a disk and in memory, and what
// a disk allows at best and as usual (wire/keeping_server.cc). Each figure is the median of the
// rounds, each ratio that of the ratios within a round. Prints a Markdown table.

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
#include "wire/scratch_folder.h"
#include "wire/server_process.h"
#include "wire/two_cores.h"

namespace holdfast::bench {
namespace {

struct Options {
    std::string holdfast = "build/bench/holdfast";
    std::string keeping = "build/bench/bin/keeping_server";
    std::string folder = "build/bench";
    int rounds = 3;
    double seconds = 0.8;
};

constexpr std::array<std::size_t, 4> client_counts{1, 8, 80, 800};

// One of the servers that take turns.
struct Participant {
    ServerProcess process;
    AnswerFramer framer;
    std::string answer_prefix;
};

class DurableBench {
  public:
    static base::Result<DurableBench> start(const Options& options);

    base::Result<void> measure(std::size_t clients);

  private:
    enum Name : std::size_t { durable, memory, append, sqlite };

    DurableBench(const Options& options, ScratchFolder folder,
                 std::vector<Participant> participants)
        : options_(options), folder_(std::move(folder)), participants_(std::move(participants)) {}

    static base::Result<Participant> start_holdfast(const Options& options, int core,
                                                    std::vector<std::string> flags);
    static base::Result<Participant> start_reference(const Options& options, int core,
                                                     const std::string& how,
                                                     const std::string& file);
    static void print_row(std::size_t clients, const std::vector<Figures>& figures);

    Options options_;
    ScratchFolder folder_;
    std::vector<Participant> participants_;
};

base::Result<Participant> DurableBench::start_holdfast(const Options& options, int core,
                                                       std::vector<std::string> flags) {
    ServerCommand command{
        .words = {options.holdfast, "serve", "--http", "127.0.0.1:0", "--dflockd", "none"},
        .door = "http",
        .core = core};
    command.words.insert(command.words.end(), flags.begin(), flags.end());
    TRY(auto process, ServerProcess::start(command));
    return Participant{.process = std::move(process),
                       .framer = http_answer,
                       .answer_prefix = std::string(ok_prefix)};
}

base::Result<Participant> DurableBench::start_reference(const Options& options, int core,
                                                        const std::string& how,
                                                        const std::string& file) {
    constexpr std::size_t answer_bytes = 200;  // about Holdfast's
    const std::size_t request_bytes = take_and_give_back(0).front().size();
    TRY(auto process,
        ServerProcess::start({.words = {options.keeping, how, file, std::to_string(request_bytes),
                                        std::to_string(answer_bytes)},
                              .door = "echo",
                              .core = core}));
    return Participant{
        .process = std::move(process), .framer = fixed_size(answer_bytes), .answer_prefix = "x"};
}

base::Result<DurableBench> DurableBench::start(const Options& options) {
    const auto cores = find_two_cores();
    if (!cores) return base::fail("this takes two cores: one for the server, one for the client");
    stay_on_core(cores->client);
    raise_descriptor_limit();
    ScratchFolder folder(options.folder);
    std::vector<Participant> participants;
    const auto add = [&participants](base::Result<Participant> started) -> base::Result<void> {
        TRY(auto participant, std::move(started));
        participants.push_back(std::move(participant));
        return {};
    };
    // In the order of their names.
    TRY(add(start_holdfast(options, cores->server, {"--data", folder / "data"})));
    TRY(add(start_holdfast(options, cores->server, {"--memory"})));
    TRY(add(start_reference(options, cores->server, "append", folder / "appended")));
    TRY(add(start_reference(options, cores->server, "sqlite", folder / "table.db")));
    return DurableBench(options, std::move(folder), std::move(participants));
}

base::Result<void> DurableBench::measure(std::size_t clients) {
    std::vector<std::unique_ptr<LoadClient>> loads;
    for (const Participant& participant : participants_) {
        const LoadOptions load{.port = participant.process.port(),
                               .connections = clients,
                               .introduce = [](Peer&, std::size_t index) -> base::Result<Requests> {
                                   return take_and_give_back(index);
                               },
                               .framer = participant.framer,
                               .answer_prefix = participant.answer_prefix};
        TRY(auto connected, LoadClient::connect(load));
        loads.push_back(std::move(connected));
    }
    std::vector<Figures> figures(participants_.size());
    const auto duration = std::chrono::duration<double>(options_.seconds);
    for (int round = 0; round < options_.rounds; ++round) {
        for (std::size_t turn = 0; turn < participants_.size(); ++turn) {
            // Everybody has every place in the order.
            const std::size_t who = (turn + static_cast<std::size_t>(round)) % participants_.size();
            TRY(run_round(*loads[who], participants_[who].process, duration, figures[who]));
        }
    }
    print_row(clients, figures);
    return {};
}

void print_head() {
    fmt::print(
        "| clients | holdfast pairs/s | in memory | append + fdatasync | SQLite, one by one "
        "| holdfast : in memory | holdfast : SQLite | holdfast p50 / p99 µs "
        "| append + fdatasync p50 / p99 µs | p50 : p50 | CPU µs/req | in memory |\n"
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
}

void DurableBench::print_row(std::size_t clients, const std::vector<Figures>& figures) {
    const auto pairs = [&figures](Name name) { return median(figures[name].per_second) / 2; };
    const auto rate_ratio = [&figures](Name name) {
        return median_ratio(figures[durable].per_second, figures[name].per_second);
    };
    fmt::print(
        "| {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.2f} | {:.1f} | {:.0f} / {:.0f} "
        "| {:.0f} / {:.0f} | {:.2f} | {:.1f} | {:.1f} |\n",
        clients, pairs(durable), pairs(memory), pairs(append), pairs(sqlite), rate_ratio(memory),
        rate_ratio(sqlite), median(figures[durable].p50_us), median(figures[durable].p99_us),
        median(figures[append].p50_us), median(figures[append].p99_us),
        median_ratio(figures[durable].p50_us, figures[append].p50_us),
        median(figures[durable].cpu_us), median(figures[memory].cpu_us));
    std::fflush(stdout);
}

base::Result<void> run(const Options& options) {
    TRY(auto bench, DurableBench::start(options));
    fmt::print(
        "`POST /lock` and `DELETE /lock` in turn, each answered when it is on disk; medians of {} "
        "alternating rounds of {} s.\n\n",
        options.rounds, options.seconds);
    print_head();
    for (const std::size_t clients : client_counts) TRY(bench.measure(clients));
    return {};
}

}  // namespace
}  // namespace holdfast::bench

int main(int argument_count, char** arguments) {
    holdfast::bench::Options options;
    const holdfast::options::Program parser(
        "bench_durable",
        "Measures holdfast on a disk beside holdfast in memory and the disk alone.");
    const holdfast::options::Command program = parser.root();
    program.add_option("--holdfast", options.holdfast, "the server's binary");
    program.add_option("--keeping", options.keeping, "the keeping server's binary");
    program.add_option("--folder", options.folder, "on the disk to be measured");
    program.add_option("--rounds", options.rounds, "for each setting and server").between(1, 101);
    program.add_option("--seconds", options.seconds, "for each round").between(0.05, 60.0);
    if (const auto stop = parser.parse(argument_count, arguments)) return stop->show();
    const auto done = holdfast::bench::run(options);
    if (done) return EXIT_SUCCESS;
    fmt::print(stderr, "bench_durable: {}\n", done.error().message);
    return EXIT_FAILURE;
}
