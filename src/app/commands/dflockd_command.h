#pragma once

// `holdfast dflockd`: takes the flags and variables of dflockd, so that what starts dflockd can
// start this instead, and serves its clients alone.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/serve_options.h"
#include "options/options.h"

namespace holdfast::app {

struct DflockdCommand {
    using Seconds = std::chrono::duration<double>;

    std::string host = "127.0.0.1";
    std::uint16_t port = 6388;
    Seconds default_lease{33};
    Seconds read_timeout{23};
    Seconds write_timeout{5};
    Seconds shutdown_timeout{30};  // zero: for ever
    Seconds idle_max{60};
    // Nothing is swept here: leases end, and what is idle goes, on time.
    Seconds sweep_interval{1};
    Seconds idle_interval{5};
    // Zero: any number.
    std::size_t locks_max = 1024;
    std::size_t connections_max = 0;
    std::size_t waiters_max = 0;  // of one lock
    bool releases_on_disconnect = true;
    std::string auth_token;
    std::string auth_token_file;
    net::TlsFiles tls;
    bool is_debugging = false;
    // Flags and variables of dflockd that nothing here stands behind, as `--http-port 8080`.
    std::vector<std::string> ignored;
    // Ours.
    std::string data_folder;  // empty: in memory, like dflockd
    std::size_t threads = 1;
};

void declare_dflockd_options(const options::Command& command, DflockdCommand& options);

// What `holdfast serve` would have to be told. Looks up the host if it is a name. An error says
// what is wrong with the host or the secret.
[[nodiscard]] base::Result<ServeOptions> to_serve_options(const DflockdCommand& options);

// The words of a command line whose first one is `dflockd`, read as dflockd reads its flags, for
// CLI11 to read: see go_flags.h.
[[nodiscard]] std::vector<std::string> with_flags_of_dflockd(std::vector<std::string> words);

}  // namespace holdfast::app
