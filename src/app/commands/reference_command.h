#pragma once

// `holdfast completion SHELL` and `holdfast manual`: what the program can tell of itself.

#include <optional>
#include <string>

#include "options/options.h"

namespace holdfast::app {

struct ReferenceCommand {
    std::string shell;
    std::optional<options::Command> completion, manual;
};

// Declares both on the program. `command` outlives it.
void declare_reference(const options::Command& program, ReferenceCommand& command);

// What to print, if one of them was asked for. REQUIRES: all commands are declared, and parsed.
[[nodiscard]] std::optional<std::string> reference_text(const options::Command& program,
                                                        const ReferenceCommand& command);

}  // namespace holdfast::app
