#pragma once

// What lock is wanted and how: the options that `run` and `lock` share.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/server.h"
#include "holdfast/client.h"
#include "options/options.h"

namespace holdfast::cli {

struct LeaseOptions {
    ServerOptions server;
    std::vector<std::string> names;  // or other scopes
    std::string owner;
    std::string metadata;
    std::chrono::milliseconds ttl{30'000};
    std::optional<std::chrono::milliseconds> wait;  // none: without an end
    bool is_try = false;
    bool is_shared = false;
    std::uint64_t limit = 1;
    OnDeadlock on_deadlock = OnDeadlock::refuse;
    std::string waiter;  // HOLDFAST_WAITER: that of the `run` around us; empty: there is none

    // As people call it, for messages: the names, with blanks between them.
    [[nodiscard]] std::string title() const;
};

void declare_lease_options(const options::Command& command, LeaseOptions& options);

// The request they spell, or what is wrong with them.
[[nodiscard]] Asked<LeaseRequest> to_request(const LeaseOptions& options);
[[nodiscard]] std::chrono::milliseconds wait_of(const LeaseOptions& options);
[[nodiscard]] ClientOptions to_client_options(const LeaseOptions& options);

}  // namespace holdfast::cli
