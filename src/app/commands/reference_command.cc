#include "app/commands/reference_command.h"

#include <CLI/CLI.hpp>

#include "app/commands/command_tree.h"
#include "app/commands/completion.h"
#include "app/commands/manual.h"

namespace holdfast::app {

void declare_reference(CLI::App& program, ReferenceCommand& command) {
    command.completion =
        program.add_subcommand("completion", "print a script that completes commands in a shell");
    command.completion->add_option("SHELL", command.shell, "for which shell")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    command.completion->footer(
        "  bash: source <(holdfast completion bash)\n"
        "  zsh:  source <(holdfast completion zsh)\n"
        "  fish: holdfast completion fish | source");
    command.manual = program.add_subcommand("manual", "print the manual page");
    command.manual->footer("  holdfast manual | man -l -");
}

std::optional<std::string> reference_text(const CLI::App& program,
                                          const ReferenceCommand& command) {
    if (command.manual->parsed()) return manual_page(list_commands(program));
    if (!command.completion->parsed()) return std::nullopt;
    if (command.shell == "bash") return bash_completion(list_commands(program));
    if (command.shell == "zsh") return zsh_completion(list_commands(program));
    return fish_completion(list_commands(program));
}

}  // namespace holdfast::app
