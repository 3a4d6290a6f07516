#pragma once

// What happens to the locks of a server, as Client::watch() tells it.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace holdfast {

struct LockEvent {
    // Grows with every event. Absent for a gap.
    std::optional<std::uint64_t> id;
    // granted, renewed, released, expired, grace_ended, queued, wait_timed_out, wait_cancelled,
    // session_opened, session_ended, fence_refused. And gap: events are missing, because the server
    // does not remember all that happened while the client was not connected.
    std::string kind;
    std::string lock_name;  // or the resource of a fence
    std::string lock_kind;  // named, semaphore, path, inode, range
    std::string holder;
    std::uint64_t fencing_token = 0;
    std::string metadata;
    std::chrono::system_clock::time_point at;  // by the server's clock
    std::string data;                          // all of it: a JSON object
};

struct WatchOptions {
    std::string prefix;                  // of the names of the locks
    std::optional<std::uint64_t> after;  // the id of the last event that is known already
    // Called whenever a stream of events begins: at first, and after every break.
    std::function<void()> on_open;
};

}  // namespace holdfast
