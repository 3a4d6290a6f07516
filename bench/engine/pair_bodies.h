#pragma once

// What bench_pairs counts: the ways to acquire and release locks, from the lock table alone to the
// service of a durable server.
//
// A turn acquires sixteen locks and then releases them, as a dflockd client does that has sixteen
// requests in flight: names of seven bytes, a session, and the scope beside the token.

#include <cstddef>
#include <span>
#include <string_view>

namespace holdfast::bench {

inline constexpr std::size_t pairs_per_turn = 16;

struct PairBody {
    std::string_view name;         // on the command line
    std::string_view description;  // in the table of figures
    // Does so many turns.
    void (*run)(std::size_t turns);
};

[[nodiscard]] std::span<const PairBody> pair_bodies();

}  // namespace holdfast::bench
