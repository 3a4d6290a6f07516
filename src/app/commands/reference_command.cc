#include "app/commands/reference_command.h"

#include "app/commands/completion.h"
#include "app/commands/manual.h"
#include "options/command_tree.h"
#include "options/options.h"

namespace holdfast::app {

void declare_reference(const options::Command& program, ReferenceCommand& command) {
    command.completion =
        program.add_command("completion", "print a script that completes commands in a shell");
    command.completion->add_option("SHELL", command.shell, "for which shell")
        .required()
        .among({"bash", "zsh", "fish"});
    command.completion->footer(
        "  bash: source <(holdfast completion bash)\n"
        "  zsh:  source <(holdfast completion zsh)\n"
        "  fish: holdfast completion fish | source");
    command.manual = program.add_command("manual", "print the manual page");
    command.manual->footer("  holdfast manual | man -l -");
}

std::optional<std::string> reference_text(const options::Command& program,
                                          const ReferenceCommand& command) {
    if (command.manual->is_called()) return manual_page(options::list_commands(program));
    if (!command.completion->is_called()) return std::nullopt;
    if (command.shell == "bash") return bash_completion(options::list_commands(program));
    if (command.shell == "zsh") return zsh_completion(options::list_commands(program));
    return fish_completion(options::list_commands(program));
}

}  // namespace holdfast::app
