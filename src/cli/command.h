#pragma once

// The commands that talk to a server. Every command declares its options and a function to run.
// Commands has all of them.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/failure.h"
#include "cli/run/run_words.h"
#include "options/options.h"

namespace holdfast::cli {

// One command: its options, and the function that runs it and returns the exit code.
struct Command {
    holdfast::options::Command options;
    std::function<Asked<int>()> run;
};

// Runs a command that was called, and tells how it failed. Returns the exit code.
int run(const Command& command);

// The words of `run` or `elect`, and among them the command that is to be run.
using CommandWords = std::shared_ptr<RunWords>;

class Commands {
  public:
    // Declares them all. `program` outlives this.
    explicit Commands(const options::Command& program);

    // Removes the command of `run NAME rm -rf x` or `elect NAME rm -rf x`, whose options are not
    // ours. To be called before the other words are parsed.
    [[nodiscard]] std::vector<std::string> take(std::vector<std::string> words) const;

    // Runs the command that was called, and returns its exit code. Nothing if none of these was.
    [[nodiscard]] std::optional<int> run() const;

  private:
    CommandWords words_;
    std::vector<Command> commands_;
};

[[nodiscard]] Command declare_run(const options::Command& program, const CommandWords& words);
[[nodiscard]] Command declare_elect(const options::Command& program, const CommandWords& words);
[[nodiscard]] Command declare_observe(const options::Command& program);
[[nodiscard]] Command declare_lock(const options::Command& program);
[[nodiscard]] Command declare_renew(const options::Command& program);
[[nodiscard]] Command declare_unlock(const options::Command& program);
[[nodiscard]] Command declare_force_unlock(const options::Command& program);
[[nodiscard]] Command declare_show(const options::Command& program);
[[nodiscard]] Command declare_ls(const options::Command& program);
[[nodiscard]] Command declare_history(const options::Command& program);
[[nodiscard]] Command declare_watch(const options::Command& program);
[[nodiscard]] Command declare_top(const options::Command& program);
[[nodiscard]] Command declare_deadlocks(const options::Command& program);
[[nodiscard]] Command declare_session(const options::Command& program);
[[nodiscard]] Command declare_fence(const options::Command& program);
[[nodiscard]] Command declare_status(const options::Command& program);
[[nodiscard]] Command declare_cluster(const options::Command& program);
[[nodiscard]] Command declare_backup(const options::Command& program);
[[nodiscard]] Command declare_terraform(const options::Command& program);

}  // namespace holdfast::cli
