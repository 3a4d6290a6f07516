#pragma once

// What happens to the locks, as watch() of Client and LockManager tells it.

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
    // session_opened, session_ended, value_set, deadlock, fence_refused, audit. And gap: events are
    // missing, because the server (or manager) does not remember all that happened while nobody listened.
    std::string kind;
    std::string lock_name;  // or the resource of a fence, or what an administrator has changed
    std::string lock_kind;  // named, semaphore, path, inode, range
    std::string holder;
    std::uint64_t fencing_token = 0;
    std::string metadata;
    std::chrono::system_clock::time_point at;  // by the server's clock
    std::string data;  // of a server: all of it, a JSON object. Of a manager: empty
};

struct WatchOptions {
    std::string prefix;                  // of the names of the locks
    std::optional<std::uint64_t> after;  // the id of the last event that is known already
    // Called whenever a stream of events begins: at first, and after every break.
    std::function<void()> on_open;
};

}  // namespace holdfast
