#pragma once

// The commands of the program that are the server's. (src/cli has those that talk to a server.)
// Each is declared on the program with its options, and says what to run when it was called. The
// options live as long as the command.

#include <cstdint>
#include <string>
#include <vector>

#include "app/serve_options.h"
#include "cli/command.h"
#include "options/options.h"

namespace holdfast::app {

// The exit code of a server that does not start.
inline constexpr int exit_cannot_start = 1;

[[nodiscard]] cli::Command declare_serve(const options::Command& program);
[[nodiscard]] cli::Command declare_dflockd(const options::Command& program);
[[nodiscard]] cli::Command declare_config(const options::Command& program);
[[nodiscard]] cli::Command declare_migrate(const options::Command& program);
[[nodiscard]] cli::Command declare_restore(const options::Command& program);
[[nodiscard]] cli::Command declare_fold(const options::Command& program);
[[nodiscard]] cli::Command declare_token(const options::Command& program);
[[nodiscard]] cli::Command declare_bench(const options::Command& program);
[[nodiscard]] cli::Command declare_completion(const options::Command& program);
[[nodiscard]] cli::Command declare_manual(const options::Command& program);

// Lets the process have as many open files as the system permits: each connection takes one. Returns
// how many that are.
std::uint64_t raise_descriptor_limit();

// What `holdfast config` shows of one option of `serve`.
struct OptionInForce {
    std::string name;    // `--http`
    std::string value;   // as one would write it; empty: none
    std::string origin;  // `command line`, the name of a variable or a file, `default`
};

// Of a command with the options of `serve` that has been parsed into `parsed`, in the order of its
// help.
[[nodiscard]] std::vector<OptionInForce> options_in_force(const options::Command& command,
                                                          const ServeOptions& parsed);

// A table of them for people, or JSON for programs.
[[nodiscard]] std::string to_table(const std::vector<OptionInForce>& options);
[[nodiscard]] std::string to_json(const std::vector<OptionInForce>& options);

}  // namespace holdfast::app
