#pragma once

#include <cstdint>
#include <vector>

#include "core/values/time.h"
#include "store/boot_clock.h"

namespace holdfast::store {

// One start of the server. Numbers grow.
struct Start {
    std::int64_t number = 0;
    BootClock at;
};

// A lease nobody renewed over more starts of the machine than this is over.
inline constexpr std::size_t boots_max = 10;

// LeaseAges: how much of its time a lease has used up when the server finds it again.
//
// While the server is down nobody can renew, so a lease begins its whole time anew when the server
// comes back: at the first start after the run that wrote it. Later starts do not give it more
// time, so a server that is started again and again cannot keep a dead lease alive. Across a
// restart of the machine nobody knows how much time went by; a lease then begins anew with the
// machine, but not more than boots_max times.
class LeaseAges {
  public:
    // REQUIRES: in the order of their numbers; the last one is the present.
    explicit LeaseAges(const std::vector<Start>& starts);

    // What is left of `time` for a lease that run `start_number` wrote; never below zero.
    [[nodiscard]] core::Duration remaining(std::int64_t start_number, core::Duration time) const;

  private:
    struct Age {
        std::int64_t first_start;  // of a lease that was written before this start, after the last
        core::Duration used;
    };

    std::vector<Age> ages_;  // in the order of their numbers
};

}  // namespace holdfast::store
