#pragma once

// `holdfast completion SHELL` and `holdfast manual`: what the program can tell of itself.

#include <optional>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
}

namespace holdfast::app {

struct ReferenceCommand {
    std::string shell;
    CLI::App* completion = nullptr;
    CLI::App* manual = nullptr;
};

// Declares both on the program. `command` outlives it.
void declare_reference(CLI::App& program, ReferenceCommand& command);

// What to print, if one of them was asked for. REQUIRES: all commands are declared, and parsed.
[[nodiscard]] std::optional<std::string> reference_text(const CLI::App& program,
                                                        const ReferenceCommand& command);

}  // namespace holdfast::app
