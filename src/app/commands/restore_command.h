#pragma once

// `holdfast restore FILE`: puts a backup in the place where `holdfast serve` will look.

#include <string>

#include "app/serve_options.h"
#include "options/options.h"

namespace holdfast::app {

struct RestoreCommand {
    std::string copy_path;
    std::string data_folder = ServeOptions{}.data_folder;
    bool may_replace = false;
};

void declare_restore_options(const options::Command& command, RestoreCommand& restore);

// Does it, and tells on the standard output what came of it. The exit code.
[[nodiscard]] int run_restore(const RestoreCommand& restore);

}  // namespace holdfast::app
