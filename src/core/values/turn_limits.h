#pragma once

// What one turn of the loop may cost, whatever clients have piled up: the other clients wait that
// long. Work that is longer is cut into parts, and other clients are served in between. What cannot
// be cut is refused beforehand.

#include <cstddef>
#include <cstdint>

namespace holdfast::core {

// A single request, expiry, listing or call of an administrator looks at so many records at most.
// (The search for a deadlock has a number of its own: Limits::deadlock_steps_max.)
inline constexpr std::uint64_t visits_max = 4096;

// It copies so many bytes at most. Its own body, files and states have limits of their own.
inline constexpr std::size_t copied_max = std::size_t{1} << 20U;

}  // namespace holdfast::core
