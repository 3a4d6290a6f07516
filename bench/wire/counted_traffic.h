#pragma once

// The kinds of traffic whose instructions are counted (bench_instructions, `make bench-quick`).
//
// Each kind is one connection that repeats one step: a few requests, and all their answers. Nothing
// depends on time, so the server does the same work in every run.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/peer.h"

namespace holdfast::bench {

// Sends the requests of one step and checks the answers.
using Step = std::function<base::Result<void>(Peer& peer)>;

struct CountedKind {
    std::string_view name;           // on the command line
    std::string_view unit;           // what is counted, for people
    std::string_view door;           // the only one that is open
    std::vector<std::string> flags;  // further arguments of `holdfast serve`
    bool is_durable = false;         // locks are on disk; otherwise in memory
    std::size_t units_per_step = 1;
    std::function<base::Result<Step>(Peer& peer)> prepare;
};

// All there are, in the order in which they are shown.
[[nodiscard]] const std::vector<CountedKind>& counted_kinds();

}  // namespace holdfast::bench
