#include "cli/command.h"

#include <utility>

#include "cli/server.h"
#include "options/options.h"

namespace holdfast::cli {

int run(const Command& command) {
    const auto done = command.run();
    if (done) return *done;
    const bool is_json = command.options.has_flag("--json");
    return complain(done.error(), is_json ? Telling::json : Telling::sentence);
}

Commands::Commands(const options::Command& program)
    : words_(std::make_shared<RunWords>()),
      commands_{
          declare_run(program, words_), declare_elect(program, words_), declare_lock(program),
          declare_renew(program),       declare_unlock(program),        declare_show(program),
          declare_ls(program),          declare_watch(program),         declare_top(program),
          declare_deadlocks(program),   declare_force_unlock(program),  declare_session(program),
          declare_fence(program),       declare_status(program),        declare_cluster(program),
          declare_backup(program),      declare_terraform(program),     declare_history(program),
          declare_observe(program)} {
    for (const Command& command : commands_) {
        command.options.help_column(34);
        command.options.group("Commands that talk to a server");
    }
}

std::vector<std::string> Commands::take(std::vector<std::string> words) const {
    if (words.empty() || (words.front() != "run" && words.front() != "elect")) return words;
    const std::string name = words.front();
    const options::Command& running = commands_[name == "run" ? 0 : 1].options;
    words.erase(words.begin());
    *words_ = split_run_words(
        words, [&running](const std::string& option) { return running.takes_value(option); });
    std::vector<std::string> ours{name};
    ours.insert(ours.end(), words_->ours.begin(), words_->ours.end());
    return ours;
}

std::optional<int> Commands::run() const {
    for (const Command& command : commands_) {
        if (command.options.is_called()) return cli::run(command);
    }
    return std::nullopt;
}

}  // namespace holdfast::cli
