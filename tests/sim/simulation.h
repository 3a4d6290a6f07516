#pragma once

// Simulation: one world from its seed to its end.
//
// For a while everything happens that the seed's settings say. Then the faults heal, the clients
// finish, and it must all come to an end: everybody who waits is answered, and nothing is left, in
// memory or where the locks are kept.

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

#include "sim/checker/ledger.h"
#include "sim/clients/client.h"
#include "sim/network.h"
#include "sim/settings.h"
#include "sim/system.h"
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

// What kind of world a seed is of.
enum class Kind : std::uint8_t { single_server, cluster };

class Simulation {
  public:
    // A history keeps its last `history_lines_max` lines.
    Simulation(Kind kind, std::uint64_t seed, std::size_t history_lines_max);

    Result run();

    [[nodiscard]] const std::deque<std::string>& history() const {
        return world_.history().lines();
    }
    [[nodiscard]] Kind kind() const { return kind_; }

  private:
    void populate();
    void arrange_faults();
    void every(core::Duration mean, std::function<void()> action);
    void live();
    void heal();
    void drain();
    void try_each();
    bool step(Moment end);

    const Kind kind_;
    const std::uint64_t seed_;
    World world_;
    const Settings settings_;
    Faults faults_;  // as they are now
    Network network_;
    Ledger ledger_;
    std::unique_ptr<System> system_;
    std::map<std::string, FencedResource> resources_;
    Stage stage_;
    std::vector<std::unique_ptr<Client>> clients_;
    bool is_healed_ = false;
};

// Runs one seed.
[[nodiscard]] Result simulate(Kind kind, std::uint64_t seed);

// The command that shows the seed again.
[[nodiscard]] std::string to_command(Kind kind, std::uint64_t seed);

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
        fmt::print("{}seed {} stopped the program\nsee it again: {}\n",
                   to_report({.seed = running.seed}, *running.simulation), running.seed,
                   to_command(running.simulation->kind(), running.seed));
        std::fflush(stdout);
        std::_Exit(running.exit_status);
    }

    static inline Running running{};
};

}  // namespace holdfast::sim
