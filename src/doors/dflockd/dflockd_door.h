#pragma once

// DflockdDoor: what all dflockd connections of a server share.
//
// Thread safety: every method from any thread.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/values/ids.h"
#include "rights/token_table.h"

namespace holdfast::doors::dflockd {

// How long a connection may take to show the secret, if one is needed, whatever it sends
// meanwhile.
inline constexpr std::chrono::milliseconds auth_timeout_usual{10'000};

// The options of the operator.
struct DflockdOptions {
    core::Duration default_lease = std::chrono::seconds{33};
    // Whether the leases of a connection are released when it closes, or stay until they expire.
    bool releases_on_disconnect = true;
    // How long a peer with a wrong or no secret waits for its answer: guessing must take time.
    std::chrono::milliseconds refusal_delay{100};
    std::chrono::milliseconds auth_timeout = auth_timeout_usual;
};

class DflockdDoor {
  public:
    // The tokens outlive the door. They say which peers are admitted, and what those may do.
    DflockdDoor(const DflockdOptions& options, const rights::TokenSource& tokens)
        : options_(options), tokens_(tokens) {}

    [[nodiscard]] const DflockdOptions& options() const { return options_; }
    [[nodiscard]] const rights::TokenSource& tokens() const { return tokens_; }

    // A connection begins and gets its number; or ends.
    [[nodiscard]] std::uint64_t enter() {
        connections_.fetch_add(1, std::memory_order_relaxed);
        return next_id_.fetch_add(1, std::memory_order_relaxed);
    }
    void leave() { connections_.fetch_sub(1, std::memory_order_relaxed); }
    [[nodiscard]] std::size_t connections() const {
        return connections_.load(std::memory_order_relaxed);
    }

  private:
    const DflockdOptions options_;
    const rights::TokenSource& tokens_;
    std::atomic<std::size_t> connections_ = 0;
    std::atomic<std::uint64_t> next_id_ = 1;
};

}  // namespace holdfast::doors::dflockd
