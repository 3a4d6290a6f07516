#pragma once

// StepBudget: what one step of the Redis door may use up: a command, a script, or a whole EXEC. The
// scripts of an EXEC share one budget.
//
// How to think of it: four meters that only rise. Work is charged before it is done, and what a
// script makes (texts, items of lists, frames of functions, its reply) is charged before it is made.
// Nothing is given back when a value is dropped, so the bytes that are alive at any time are never
// more than the bytes that were charged. The texts of the client's own command are not charged: they
// are limited where they are read.
//
// Why: docs/decisions/0057. The numbers are in docs/reference/limits.md.

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace holdfast::doors::redis {

// How many statements, expressions and items of lists the scripts of a step may look at.
inline constexpr std::size_t step_steps_max = 20'000;
// How many bytes a step may make, copy or compare.
inline constexpr std::size_t step_bytes_max = std::size_t{1} << 20;
// How many keys a step may look at or change. A key that is named twice counts twice.
inline constexpr std::size_t step_keys_max = 4096;
// How many values a script may return, those in lists included.
inline constexpr std::size_t step_items_max = 4096;
// How many changes a step may make, and how many bytes of names and values are in them: all of them
// are one commit, and a commit of a cluster has a limit. (Keyspace counts both.)
inline constexpr std::size_t step_changes_max = 2048;
inline constexpr std::size_t step_changes_bytes_max = std::size_t{256} * 1024;

class StepBudget {
  public:
    // Each says why there is no more. The message is that of an error reply, with the code.
    [[nodiscard]] base::Result<void> take_step() { return take(Meter::steps, 1); }
    [[nodiscard]] base::Result<void> take_bytes(std::size_t count) {
        return take(Meter::bytes, count);
    }
    [[nodiscard]] base::Result<void> take_keys(std::size_t count) {
        return take(Meter::keys, count);
    }
    [[nodiscard]] base::Result<void> take_item() { return take(Meter::items, 1); }

    // What was used up so far.
    [[nodiscard]] std::size_t steps() const { return used(Meter::steps); }
    [[nodiscard]] std::size_t bytes() const { return used(Meter::bytes); }
    [[nodiscard]] std::size_t keys() const { return used(Meter::keys); }

  private:
    enum class Meter : std::uint8_t { steps, bytes, keys, items };
    static constexpr std::array limits{step_steps_max, step_bytes_max, step_keys_max,
                                       step_items_max};

    [[nodiscard]] base::Result<void> take(Meter meter, std::size_t count) {
        std::size_t& used = used_[static_cast<std::size_t>(meter)];
        used += count;
        if (used <= limits[static_cast<std::size_t>(meter)]) return {};
        used -= count;
        return tl::unexpected(explain(meter));
    }
    [[nodiscard]] std::size_t used(Meter meter) const {
        return used_[static_cast<std::size_t>(meter)];
    }
    [[nodiscard]] static base::Error explain(Meter meter);

    std::array<std::size_t, limits.size()> used_{};
};

}  // namespace holdfast::doors::redis
