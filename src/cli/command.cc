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
    : words_(std::make_shared<std::vector<std::string>>()),
      commands_{
          declare_run(program, words_),  declare_elect(program, words_), declare_lock(program),
          declare_renew(program),        declare_unlock(program),        declare_show(program),
          declare_ls(program),           declare_watch(program),         declare_top(program),
          declare_force_unlock(program), declare_session(program),       declare_fence(program),
          declare_status(program),       declare_cluster(program),       declare_backup(program),
          declare_terraform(program),    declare_observe(program)} {
    for (const Command& command : commands_) {
        command.options.help_column(34);
        command.options.group("Commands that talk to a server");
    }
}

std::vector<std::string> Commands::take(std::vector<std::string> words) const {
    if (words.empty() || (words.front() != "run" && words.front() != "elect")) return words;
    const Command& running = commands_[words.front() == "run" ? 0 : 1];
    const auto command = find_command(words, running.options);
    const bool has_dashes = command != words.end() && *command == "--";
    words_->assign(has_dashes ? command + 1 : command, words.end());
    words.erase(command, words.end());
    return words;
}

// Where the command begins in `run NAME command` or `run NAME -- command`: at the second word that is
// neither an option nor its value, or at two dashes.
std::vector<std::string>::iterator Commands::find_command(std::vector<std::string>& words,
                                                          const options::Command& run) {
    bool has_name = false;
    for (auto word = words.begin() + 1; word != words.end(); ++word) {
        if (*word == "--") return word;
        const bool is_option = word->starts_with('-') && word->size() > 1;
        if (!is_option && std::exchange(has_name, true)) return word;
        if (is_option && run.takes_value(*word) && word + 1 != words.end()) ++word;
    }
    return words.end();
}

std::optional<int> Commands::run() const {
    for (const Command& command : commands_) {
        if (command.options.is_called()) return cli::run(command);
    }
    return std::nullopt;
}

}  // namespace holdfast::cli
