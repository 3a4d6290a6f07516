#pragma once

#include <string>

#include "service/ports/clock.h"
#include "sim/world.h"
#include "store/tables/starts.h"

namespace holdfast::sim {

// Machine: the clocks of the computer the server runs on.
//
// The monotonic clock begins with the machine and only goes forwards. The wall clock is set by
// people, who may set it to anything.
class Machine final : public service::Clock {
  public:
    // The monotonic clock shows `uptime` when the machine has started.
    explicit Machine(World& world, core::Duration uptime = std::chrono::seconds{20})
        : world_(world), uptime_at_boot_(uptime) {}

    [[nodiscard]] core::Time now() const override { return to_engine(world_.now()); }
    [[nodiscard]] service::WallTime wall(core::Time time) const override {
        return service::WallTime{wall_at_boot_ + time.time_since_epoch()};
    }
    [[nodiscard]] store::BootClock boot_clock() const {
        return {.boot = std::to_string(boots_), .since_boot = world_.now() - boot_};
    }

    [[nodiscard]] core::Time to_engine(Moment moment) const {
        return core::Time{uptime_at_boot_ + (moment - boot_)};
    }
    [[nodiscard]] Moment to_world(core::Time time) const {
        if (time == core::Time::max()) return Moment::max();
        return boot_ + (time.time_since_epoch() - uptime_at_boot_);
    }

    // REQUIRES: the server is not running.
    void reboot() {
        wall_at_boot_ += world_.now() - boot_;
        boot_ = world_.now();
        ++boots_;
    }
    void step_wall(core::Duration step) { wall_at_boot_ += step; }

  private:
    World& world_;
    const core::Duration uptime_at_boot_;
    Moment boot_{};
    core::Duration wall_at_boot_ = std::chrono::hours{24 * 365 * 55};
    int boots_ = 1;
};

}  // namespace holdfast::sim
