#pragma once

#include <fmt/format.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "sim/simulation.h"

namespace holdfast::sim {

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
