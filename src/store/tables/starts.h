#pragma once

// The starts of the server, and how much time they leave to the leases of earlier runs.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/values/ids.h"

namespace holdfast::store {

// BootClock: a moment on a clock that goes on while the server is down, and that is not the wall
// clock.
//
// Two such moments tell how much time has passed between two runs of the server, whatever people do
// to the wall clock, or that the machine was restarted in between.
struct BootClock {
    std::string boot;              // names the start of the machine
    core::Duration since_boot{0};  // since that start, including the time asleep

    // Now. Fails if the kernel does not tell.
    [[nodiscard]] static base::Result<BootClock> read();
};

// One start of the server. Later starts have larger numbers.
struct Start {
    std::int64_t number = 0;
    BootClock at;
};

// A lease that was not renewed over more starts of the machine than this has ended.
inline constexpr std::size_t boots_max = 10;

// LeaseAges: how much of its time a lease of an earlier run has used up.
//
// While the server is down no client can renew. So a lease gets its whole time again when the server
// comes back: at the first start after the run that wrote the lease. Later starts do not give it
// more time, so that a server that is started again and again does not keep a dead lease alive.
// Over a restart of the machine nobody knows how much time has passed. The lease then gets its whole
// time again at the first start on the restarted machine, but not more than boots_max times.
class LeaseAges {
  public:
    // REQUIRES: the starts are in the order of their numbers; the last one is the present.
    explicit LeaseAges(const std::vector<Start>& starts);

    // What is left of `time` for a lease that the run `start_number` wrote; never below zero.
    [[nodiscard]] core::Duration remaining(std::int64_t start_number, core::Duration time) const;

  private:
    struct Age {
        std::int64_t first_start;  // the first start after the lease was written
        core::Duration used;
    };

    std::vector<Age> ages_;  // in the order of their numbers
};

}  // namespace holdfast::store
