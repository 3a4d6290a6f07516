#pragma once

// ToldValues: the values of leases, as clients were told of them.
//
// A holder may give its lease another value, and each change has the next revision. Whoever was told
// of a value, because it set the value or because it looked at the lock, must not be told of an older
// one later: no crash and no change of leader undoes it.

#include <cstdint>
#include <map>

#include "core/values/ids.h"
#include "sim/message.h"
#include "sim/world.h"

namespace holdfast::sim {

class ToldValues {
  public:
    explicit ToldValues(World& world) : world_(world) {}

    // An answer that was decided then has told of this value.
    void on_told(const ValueOfLease& value, Moment decided);
    // A server that was started, or leads from now on, has found this value.
    void on_restored(const ValueOfLease& value);

  private:
    struct Told {
        ValueOfLease newest;
        Moment decided;  // the earliest answer that tells of it
    };

    void compare(const ValueOfLease& known, const ValueOfLease& other);

    World& world_;
    std::map<core::Fence, Told> told_;
};

}  // namespace holdfast::sim
