#pragma once

#include <cstdint>
#include <optional>

#include "core/values/ids.h"

namespace holdfast::sim {

// FencedResource: something outside that a lock protects, a file say, with a number in it.
//
// It refuses who comes with a fencing number lower than the largest it has seen; so a holder that
// has lost its lease without noticing can do no harm, whatever it does. Everybody adds one to the
// number: it reads, and writes later what it made of it. If two do so at once, one of the additions
// is lost.
class FencedResource {
  public:
    // The number, or nothing for somebody who is too late.
    std::optional<std::uint64_t> read(core::Fence fence) {
        if (fence < largest_) return std::nullopt;
        largest_ = fence;
        return value_;
    }

    // False for somebody who is too late.
    bool write(core::Fence fence, std::uint64_t value) {
        if (fence < largest_) return false;
        largest_ = fence;
        if (value != value_ + 1) ++lost_updates_;
        value_ = value;
        return true;
    }

    [[nodiscard]] std::uint64_t lost_updates() const { return lost_updates_; }

  private:
    core::Fence largest_{};
    std::uint64_t value_ = 0;
    std::uint64_t lost_updates_ = 0;
};

}  // namespace holdfast::sim
