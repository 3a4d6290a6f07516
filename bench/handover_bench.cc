// bench_handover: how long a lock is on its way from one client to the next.
//
// Many clients wait for one lock, each on a connection of its own. The time is from the moment when
// the holder sends its release to the moment when the next client has received its grant. Beside
// it: one round trip to a bare echo server, with messages of the same sizes. The server and the
// echo server are on one core, the client on another, and they take turns in blocks; each figure is
// the median of the blocks, the ratio that of the ratios within a block. Prints a Markdown table.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "options/options.h"
#include "wire/handover_speech.h"
#include "wire/round.h"
#include "wire/server_process.h"
#include "wire/two_cores.h"

namespace holdfast::bench {
namespace {

struct Options {
    std::string holdfast = "build/bench/holdfast";
    std::string echo = "build/bench/bin/echo_server";
    std::vector<std::string> serve_arguments;
    std::size_t blocks = 21;
    std::size_t block_size = 300;
};

using Clock = std::chrono::steady_clock;

// Microseconds that each of a number of things took.
using Times = std::vector<double>;

double since(Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double quantile(Times times, double share) {
    std::sort(times.begin(), times.end());
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
}

// Clients in a queue that moves on for ever: the first holds the lock, the others wait.
class Queue {
  public:
    static base::Result<Queue> form(std::uint16_t port, const HandoverSpeech& speech,
                                    std::size_t waiters) {
        Queue queue(speech);
        for (std::size_t i = 0; i <= waiters; ++i) {
            TRY(auto peer, Peer::connect(port));
            TRY(peer.send(speech.ask));
            queue.peers_.push_back(std::move(peer));
            if (i == 0) {
                TRY(queue.grant_, queue.receive(0));
            }
            TRY(queue.settle());
        }
        return queue;
    }

    // Hands the lock on to the next. Returns how long that took.
    base::Result<double> hand_on() {
        const std::size_t next = (holder_ + 1) % peers_.size();
        const std::string release = speech_.release(grant_);
        const auto begin = Clock::now();
        TRY(peers_[holder_].send(release));
        TRY(grant_, receive(next));
        const double time = since(begin);
        TRY(const auto released, receive(holder_));
        if (released.find(speech_.released) == std::string::npos) {
            return base::fail("not released: " + released);
        }
        TRY(peers_[holder_].send(speech_.ask));
        holder_ = next;
        TRY(settle());
        return time;
    }

    [[nodiscard]] const std::string& grant() const { return grant_; }

  private:
    explicit Queue(const HandoverSpeech& speech) : speech_(speech) {}

    base::Result<std::string> receive(std::size_t who) {
        TRY(auto answers, peers_[who].receive(1, speech_.framer));
        return std::move(answers.front());
    }

    // Waits until the server has read all that was sent to it, and is idle: it answers the holder,
    // who has nothing else in flight.
    base::Result<void> settle() {
        TRY(peers_[holder_].exchange(speech_.idle_question, speech_.framer));
        return {};
    }

    HandoverSpeech speech_;
    std::vector<Peer> peers_;
    std::size_t holder_ = 0;
    std::string grant_;
};

struct Setting {
    const char* name;
    HandoverSpeech speech;
    std::size_t waiters;
};

base::Result<void> measure(const Options& options, const Setting& setting, int core) {
    const HandoverSpeech& speech = setting.speech;
    ServerCommand command{
        .words = {options.holdfast, "serve", "--memory", "--log-level", "warning"},
        .door = speech.door,
        .core = core};
    for (const std::string door : {"http", "dflockd"}) {
        command.words.push_back("--" + door);
        command.words.emplace_back(door == speech.door ? "127.0.0.1:0" : "none");
    }
    command.words.insert(command.words.end(), options.serve_arguments.begin(),
                         options.serve_arguments.end());
    TRY(auto holdfast, ServerProcess::start(command));
    TRY(auto queue, Queue::form(holdfast.port(), speech, setting.waiters));
    const std::string request(speech.release(queue.grant()).size(), 'x');
    const std::size_t answer_bytes = queue.grant().size();
    TRY(auto echo, ServerProcess::start({.words = {options.echo, std::to_string(request.size()),
                                                   std::to_string(answer_bytes)},
                                         .door = "echo",
                                         .core = core}));
    TRY(auto peer, Peer::connect(echo.port()));
    const auto framer = fixed_size(answer_bytes);
    const auto echo_once = [&]() -> base::Result<double> {
        const auto begin = Clock::now();
        TRY(peer.exchange(request, framer));
        return since(begin);
    };
    Times echo_p50, echo_p99, own_p50, own_p99;
    for (std::size_t block = 0; block <= options.blocks; ++block) {
        Times echo_times, own_times;
        for (std::size_t i = 0; i < options.block_size; ++i) {
            TRY(const double time, echo_once());
            echo_times.push_back(time);
        }
        for (std::size_t i = 0; i < options.block_size; ++i) {
            TRY(const double time, queue.hand_on());
            own_times.push_back(time);
        }
        if (block == 0) continue;  // for warming up
        echo_p50.push_back(quantile(echo_times, 0.5));
        echo_p99.push_back(quantile(echo_times, 0.99));
        own_p50.push_back(quantile(own_times, 0.5));
        own_p99.push_back(quantile(own_times, 0.99));
    }
    fmt::print("| {} | {} | {:.1f} / {:.1f} | {:.1f} / {:.1f} | {:.2f} |\n", setting.name,
               setting.waiters, median(echo_p50), median(echo_p99), median(own_p50),
               median(own_p99), median_ratio(own_p50, echo_p50));
    std::fflush(stdout);
    return {};
}

base::Result<void> run(const Options& options) {
    const auto cores = find_two_cores();
    if (!cores) return base::fail("this takes two cores: one for the server, one for the client");
    stay_on_core(cores->client);
    raise_descriptor_limit();
    fmt::print(
        "From sending a release on one connection to receiving the grant on the next, in memory; "
        "medians of {} alternating blocks of {}.\n\n"
        "| door | waiters | echo round trip p50 / p99 µs | release to grant p50 / p99 µs "
        "| p50 : p50 |\n"
        "|---|--:|--:|--:|--:|\n",
        options.blocks, options.block_size);
    for (const std::size_t waiters : {1, 80, 1000}) {
        TRY(measure(options, {"dflockd", dflockd_handover(), waiters}, cores->server));
    }
    return measure(options, {"/v1/locks", lockserver_handover(), 80}, cores->server);
}

}  // namespace
}  // namespace holdfast::bench

int main(int argument_count, char** arguments) {
    holdfast::bench::Options options;
    const holdfast::options::Program parser(
        "bench_handover", "Measures how long a lock is on its way from one client to the next.");
    const holdfast::options::Command program = parser.root();
    program.add_option("--holdfast", options.holdfast, "the server's binary");
    program.add_option("--echo", options.echo, "the echo server's binary");
    program.add_option("--blocks", options.blocks, "for each setting").between(1, 1001);
    program.add_option("--block-size", options.block_size, "measurements in a block")
        .between(10, 100'000);
    program.add_option("serve_arguments", options.serve_arguments,
                       "further arguments of `holdfast serve`, after --");
    if (const auto stop = parser.parse(argument_count, arguments)) return stop->show();
    const auto done = holdfast::bench::run(options);
    if (done) return EXIT_SUCCESS;
    fmt::print(stderr, "bench_handover: {}\n", done.error().message);
    return EXIT_FAILURE;
}
