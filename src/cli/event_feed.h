#pragma once

// The server's events, for the commands that show them.

#include <functional>
#include <stop_token>
#include <string>

#include "cli/server.h"
#include "holdfast/lock_event.h"

namespace holdfast::cli {

struct Follower {
    std::string prefix;  // of the locks' names
    std::function<void()> on_open = [] {};
    std::function<void(const LockEvent&)> on_event;
    // The connection was lost and is tried again. An empty text: it is there again.
    std::function<void(const std::string& trouble)> on_trouble = [](const std::string&) {};
    std::stop_token stop;
};

// Calls the follower with every event until it is stopped. If the connection breaks, goes on after
// the last event. Fails if there is no connection at the beginning, or if the server refuses.
[[nodiscard]] Asked<void> follow_events(Server& server, const Follower& follower);

// An event as a line for people: `2024-01-15T10:30:00.123Z  granted  x  w1  fence=34 ...`.
[[nodiscard]] std::string event_line(const LockEvent& event, bool has_colour);

}  // namespace holdfast::cli
