// The `holdfast` program: reads the command line and starts what it names.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/commands/complete.h"
#include "app/dflockd/dflockd_command.h"

namespace holdfast::app {

namespace {

int run(std::vector<std::string> words) {
    const options::Program parser(
        "holdfast", "Holdfast: one lock server for everything that must not happen twice at once.");
    const options::Command program = parser.root();
    program.version("--version", "holdfast " HOLDFAST_VERSION);
    program.requires_commands(1, 1);
    program.footer(
        "Start a server:              holdfast serve\n"
        "Run a command under a lock:  holdfast run backup ./backup.sh\n"
        "See who holds what:          holdfast ls\n"
        "\n"
        "`holdfast COMMAND --help` has the options and examples of a command.");
    const cli::Command own[] = {declare_serve(program),      declare_dflockd(program),
                                declare_config(program),     declare_restore(program),
                                declare_fold(program),       declare_migrate(program),
                                declare_token(program),      declare_bench(program),
                                declare_completion(program), declare_manual(program)};
    const cli::Commands clients(program);
    if (!words.empty() && words.front() == "complete") {
        return print_completion(program, {words.begin() + 1, words.end()});
    }
    words = clients.take(std::move(words));
    const bool is_dflockd = !words.empty() && words.front() == "dflockd";
    if (is_dflockd) words = with_flags_of_dflockd(std::move(words));
    const bool is_json = std::ranges::find(words, "--json") != words.end();
    if (const auto stop = parser.parse(std::move(words))) {
        const bool is_told_as_json = is_json && stop->exit_code != 0;
        const int code = is_told_as_json
                             ? complain({stop->exit_code, stop->message}, cli::Telling::json)
                             : stop->show();
        return code != 0 && is_dflockd ? exit_cannot_start : code;
    }
    for (const cli::Command& command : own) {
        if (command.options.is_called()) return cli::run(command);
    }
    return clients.run().value_or(EXIT_FAILURE);
}

}  // namespace
}  // namespace holdfast::app

int main(int argument_count, char** arguments) {
    return holdfast::app::run({arguments + 1, arguments + argument_count});
}
