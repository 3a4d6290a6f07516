#pragma once

// Simulation: one world from its seed to its end.
//
// For a while everything happens that the seed's settings say. Then the faults heal, the clients
// finish, and it must all come to an end: everybody who waits is answered, and nothing is left, in
// memory or on disk.

#include <fmt/format.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/clients/client.h"
#include "sim/disk.h"
#include "sim/machine.h"
#include "sim/network.h"
#include "sim/referee/referee.h"
#include "sim/server.h"
#include "sim/settings.h"
#include "sim/world.h"

namespace holdfast::sim {

// How a world went.
struct Result {
    std::uint64_t seed = 0;
    std::uint64_t steps = 0;
    core::Duration virtual_time{0};
    std::uint64_t hash = 0;  // of its history
    std::optional<Violation> violation;
};

class Simulation {
  public:
    // A history keeps its last `history_lines_max` lines.
    Simulation(std::uint64_t seed, std::size_t history_lines_max);

    Result run();

    [[nodiscard]] const std::deque<std::string>& history() const {
        return world_.history().lines();
    }

  private:
    void populate();
    void arrange_faults();
    void every(core::Duration mean, std::function<void()> action);
    void trouble_disk();
    void live();
    void heal();
    void drain();
    void check_empty();
    bool step(Moment end);

    const std::uint64_t seed_;
    World world_;
    const Settings settings_;
    Faults faults_;  // as they are now
    Machine machine_;
    Disk disk_;
    Network network_;
    Referee referee_;
    Server server_;
    std::map<std::string, FencedResource> resources_;
    Stage stage_;
    std::vector<std::unique_ptr<Client>> clients_;
    bool is_healed_ = false;
};

// Runs one seed.
[[nodiscard]] Result simulate(std::uint64_t seed);

// For people: the seed, what was broken and when, the end of the history, how to see it again.
[[nodiscard]] std::string to_report(const Result& result, const Simulation& simulation);

// LastWords: when the engine stops the program in one of its own checks, says which seed that was
// and shows the end of its history.
//
// One at a time; for the time it lives.
class LastWords {
  public:
    // The program then ends with `exit_status`.
    LastWords(const Simulation& simulation, std::uint64_t seed, int exit_status = EXIT_FAILURE) {
        running = {.simulation = &simulation, .seed = seed, .exit_status = exit_status};
        std::signal(SIGABRT, speak);
    }
    ~LastWords() { std::signal(SIGABRT, SIG_DFL); }
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;

  private:
    struct Running {
        const Simulation* simulation;
        std::uint64_t seed;
        int exit_status;
    };

    static void speak(int /*signal*/) {
        fmt::print("{}seed {} stopped the program\nsee it again: make sim SEEDS={}\n",
                   to_report({.seed = running.seed}, *running.simulation), running.seed,
                   running.seed);
        std::fflush(stdout);
        std::_Exit(running.exit_status);
    }

    static inline Running running{};
};

}  // namespace holdfast::sim
