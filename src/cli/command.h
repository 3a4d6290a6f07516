#pragma once

// The commands that talk to a server. Every command declares its options and a function to run.
// Commands has all of them.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "options/options.h"

namespace holdfast::cli {

// One command: its options, and the function that runs it and returns the exit code.
struct Command {
    holdfast::options::Command options;
    std::function<int()> run;
};

// The words of a command line after the first `--`.
using CommandWords = std::shared_ptr<std::vector<std::string>>;

class Commands {
  public:
    // Declares them all. `program` outlives this.
    explicit Commands(const options::Command& program);

    // Removes the words after `--`, which are no options of ours: `run NAME -- rm -rf x`. To be
    // called before the other words are parsed.
    [[nodiscard]] std::vector<std::string> take(std::vector<std::string> words) const;

    // Runs the command that was called, and returns its exit code. Nothing if none of these was.
    [[nodiscard]] std::optional<int> run() const;

    // The exit code for a command line that cannot be understood, where CLI11 would have `code`.
    [[nodiscard]] int usage_exit_code(int code) const;

  private:
    CommandWords words_;
    std::vector<Command> commands_;
    mutable bool is_one_of_ours_ = false;
};

[[nodiscard]] Command declare_run(const options::Command& program, const CommandWords& words);
[[nodiscard]] Command declare_lock(const options::Command& program);
[[nodiscard]] Command declare_renew(const options::Command& program);
[[nodiscard]] Command declare_unlock(const options::Command& program);
[[nodiscard]] Command declare_force_unlock(const options::Command& program);
[[nodiscard]] Command declare_show(const options::Command& program);
[[nodiscard]] Command declare_ls(const options::Command& program);
[[nodiscard]] Command declare_watch(const options::Command& program);
[[nodiscard]] Command declare_top(const options::Command& program);
[[nodiscard]] Command declare_session(const options::Command& program);
[[nodiscard]] Command declare_fence(const options::Command& program);
[[nodiscard]] Command declare_status(const options::Command& program);
[[nodiscard]] Command declare_cluster(const options::Command& program);
[[nodiscard]] Command declare_backup(const options::Command& program);

}  // namespace holdfast::cli
