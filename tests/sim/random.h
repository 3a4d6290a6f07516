#pragma once

// Where a world's chances come from: one generator, seeded once, so that a seed is a whole history.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "core/values/ids.h"

namespace holdfast::sim {

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

    std::uint64_t bits() { return engine_(); }

    // One of 0 to bound - 1. REQUIRES: bound > 0.
    std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }

    bool chance(double probability) { return fraction() < probability; }

    core::Duration between(core::Duration least, core::Duration most) {
        return least + core::Duration{static_cast<std::int64_t>(
                           below(static_cast<std::uint64_t>((most - least).count()) + 1))};
    }

    // Mostly less than `mean`, now and then much more: how long until something happens that may
    // happen at any time.
    core::Duration about(core::Duration mean) {
        const double factor = -std::log(1.0 - fraction());
        return core::Duration{
            1 + static_cast<std::int64_t>(static_cast<double>(mean.count()) * factor)};
    }

    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[static_cast<std::size_t>(below(from.size()))];
    }

  private:
    double fraction() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

    std::mt19937_64 engine_;
};

}  // namespace holdfast::sim
