#pragma once

// `holdfast dflockd`: takes the flags and variables of dflockd, so that what starts dflockd can
// start this instead. It is the server of `holdfast serve` with the defaults of dflockd: it opens
// dflockd's door alone, and any other door whose address is given.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/serve_options.h"
#include "options/options.h"

namespace holdfast::app {

// The options of a server that nobody has told anything: dflockd's defaults.
[[nodiscard]] ServeOptions dflockd_defaults();

struct DflockdCommand {
    ServeOptions serve = dflockd_defaults();
    // In dflockd's spelling:
    std::string host = "127.0.0.1";
    std::size_t port = 6388;
    std::string auth_token;
    std::string auth_token_file;
    std::string data_folder;  // empty: in memory, like dflockd
    bool is_debugging = false;
    // Flags and variables of dflockd that nothing here stands behind, as `--http-port 8080`.
    std::vector<std::string> ignored;
};

void declare_dflockd_options(const options::Command& command, DflockdCommand& options);

// What `holdfast serve` would have to be told. Looks up the host if it is a name. An error says
// what is wrong with the host or the secret.
[[nodiscard]] base::Result<ServeOptions> to_serve_options(const DflockdCommand& options);

// The words of a command line whose first one is `dflockd`, read as dflockd reads its flags, for
// CLI11 to read: see go_flags.h.
[[nodiscard]] std::vector<std::string> with_flags_of_dflockd(std::vector<std::string> words);

}  // namespace holdfast::app
