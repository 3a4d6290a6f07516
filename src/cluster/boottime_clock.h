#pragma once

// BoottimeClock: the machine's clocks for a node of a cluster.
//
// Its time goes on while the machine sleeps (CLOCK_BOOTTIME). The time of a usual server does not,
// and a node that woke up would believe that it still leads. Service, store and timers of a node all
// have this clock.
//
// Thread safety: any thread may ask.

#include "service/ports/clock.h"

namespace holdfast::cluster {

class BoottimeClock final : public service::Clock {
  public:
    [[nodiscard]] core::Time now() const override;
    [[nodiscard]] service::WallTime wall(core::Time time) const override;
};

}  // namespace holdfast::cluster
