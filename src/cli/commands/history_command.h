#pragma once

// What `holdfast history` asks for and prints.

#include <cstdint>
#include <string>

#include "cli/failure.h"
#include "cli/server.h"

namespace holdfast::cli {

struct HistoryOptions {
    ServerOptions server;
    std::string lock;   // empty: all locks
    std::string owner;  // empty: everybody
    std::string since;  // `2h`: so long ago; or a time
    std::string until;
    std::uint64_t limit = 100;
};

// The target of the request for a page of at most `limit` rows. `now_ms` is by the server's clock.
[[nodiscard]] Asked<std::string> history_target(const HistoryOptions& options, std::uint64_t limit,
                                                std::int64_t now_ms);

}  // namespace holdfast::cli
