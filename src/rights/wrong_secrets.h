#pragma once

// WrongSecrets: how often clients have shown a secret that no token has, so that guessing is seen.
//
// Each is counted by its door, and logged with the client's address: one line a second at most, which
// says how many were left out before it. The secret itself is never a part of this.
//
// Thread safety: every method from any thread.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/log/occasions.h"
#include "rights/right.h"

namespace holdfast::rights {

class WrongSecrets {
  public:
    using Clock = base::Occasions::TimePoint::clock;

    // `host`: see net::ClientHost.
    void add(Door door, std::string_view host);

    [[nodiscard]] std::uint64_t count(Door door) const {
        return counts_[static_cast<std::size_t>(door)].load(std::memory_order_relaxed);
    }

  private:
    std::array<std::atomic<std::uint64_t>, doors_count> counts_ = {};
    std::mutex mutex_;
    base::Occasions occasions_{std::chrono::seconds{1}};  // under mutex_
};

}  // namespace holdfast::rights
