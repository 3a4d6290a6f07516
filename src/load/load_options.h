#pragma once

// What `holdfast bench` can be told, with the defaults of LockServer's own load tool.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::load {

// The protocol in which locks are asked for.
enum class Door : std::uint8_t { lockserver, dflockd, homelab };

struct LoadOptions {
    Door door = Door::lockserver;
    std::string url = "http://127.0.0.1:8080";       // for HTTP
    std::string dflockd_address = "127.0.0.1:6388";  // for dflockd
    std::string token_file;                          // empty: no token is shown
    std::string ca_file;                             // for https; empty: the system's
    std::string lock = "hotlock";                    // the name, or how all names begin
    std::size_t keys = 1;                            // locks to choose from, at random
    std::size_t clients = 50;
    std::chrono::milliseconds duration{20'000};
    std::chrono::milliseconds ttl{800};
    std::chrono::milliseconds hold{30};    // how long a lock is held at least,
    std::chrono::milliseconds jitter{30};  // and how much longer at most
    double fail_rate = 0.03;  // the chance that a holder stands still until its lease is over
};

}  // namespace holdfast::load
