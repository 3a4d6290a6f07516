#include "cli/command.h"

#include <algorithm>

#include "cli/server.h"
#include "options/options.h"

namespace holdfast::cli {

Commands::Commands(const options::Command& program)
    : words_(std::make_shared<std::vector<std::string>>()),
      commands_{declare_run(program, words_), declare_lock(program),  declare_renew(program),
                declare_unlock(program),      declare_show(program),  declare_ls(program),
                declare_watch(program),       declare_top(program),   declare_force_unlock(program),
                declare_session(program),     declare_fence(program), declare_status(program),
                declare_cluster(program),     declare_backup(program)} {
    for (const Command& command : commands_) {
        command.options.help_column(34);
        command.options.group("Commands that talk to a server");
    }
}

std::vector<std::string> Commands::take(std::vector<std::string> words) const {
    is_one_of_ours_ = !words.empty() &&
                      std::any_of(commands_.begin(), commands_.end(), [&](const Command& command) {
                          return command.options.name() == words.front();
                      });
    const bool has_command = !words.empty() && words.front() == "run";
    const auto dashes = std::find(words.begin(), words.end(), "--");
    if (!has_command || dashes == words.end()) return words;
    words_->assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
    return words;
}

std::optional<int> Commands::run() const {
    for (const Command& command : commands_) {
        if (!command.options.is_called()) continue;
        return command.run();
    }
    return std::nullopt;
}

int Commands::usage_exit_code(int code) const {
    return code != 0 && is_one_of_ours_ ? exit_usage : code;
}

}  // namespace holdfast::cli
