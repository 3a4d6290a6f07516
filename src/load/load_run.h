#pragma once

// `holdfast bench`: a run of clients against a server. They acquire locks, hold them, write under
// their fencing numbers and release them, while a Witness checks what they are told. Now and then a
// client stops until its lease has expired, and writes nevertheless.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"

namespace holdfast::load {

// The protocol that the clients speak.
enum class Door : std::uint8_t { lockserver, dflockd, homelab };

// The options, with the defaults of LockServer's own load tool.
struct LoadOptions {
    Door door = Door::lockserver;
    std::string url = "http://127.0.0.1:8080";       // for HTTP
    std::string dflockd_address = "127.0.0.1:6388";  // for dflockd
    std::string token_file;                          // empty: no token is sent
    std::string ca_file;                             // for https; empty: those of the system
    std::string lock = "hotlock";                    // its name, or the beginning of all names
    std::size_t keys = 1;  // how many locks there are; a client chooses one at random
    std::size_t clients = 50;
    std::chrono::milliseconds duration{20'000};
    std::chrono::milliseconds ttl{800};
    std::chrono::milliseconds hold{30};    // how long a lock is held at least,
    std::chrono::milliseconds jitter{30};  // and how much longer at most
    double fail_rate = 0.03;  // the chance that a holder stops until its lease has expired
};

// What has been counted so far.
struct LoadCounts {
    std::uint64_t acquire_success = 0;
    std::uint64_t acquire_fail = 0;
    std::uint64_t release_success = 0;
    std::uint64_t writes_accepted = 0;
    std::uint64_t stale_rejected = 0;
    std::uint64_t last_token = 0;  // the largest that was written under
    std::uint64_t errors = 0;      // requests without an answer, or with an unexpected one
};

struct LoadResult {
    LoadCounts counts;
    std::chrono::nanoseconds duration{};
    base::LatencyHistogram acquire_latency;  // of grants and refusals
    base::LatencyHistogram release_latency;
    std::string first_error;          // empty: there was none
    std::vector<std::string> faults;  // what the witnesses found; empty: the server was right
    std::uint64_t fault_count = 0;
};

// Runs to the end. Calls `on_second` about once a second with the counts so far. Fails if the server
// cannot be reached at the beginning.
[[nodiscard]] base::Result<LoadResult> run_load(
    const LoadOptions& options, const std::function<void(const LoadCounts&)>& on_second);

// One `acquire_success=17` per line, in the order in which LockServer's load tool prints them.
[[nodiscard]] std::string counts_text(const LoadCounts& counts);

// How much was done and how long it took.
[[nodiscard]] std::string latency_text(const LoadResult& result);

// One line: whether the server kept its promises, and which these are.
[[nodiscard]] std::string verdict_text(const LoadOptions& options, const LoadResult& result);

// One line, to be shown during the run.
[[nodiscard]] std::string progress_text(const LoadCounts& counts);

}  // namespace holdfast::load
